"""What was sent before is found again, whatever a conversation grows by.

The provider's rule is that of the loopback endpoint's own cache, which looks back block by block.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from prompt_engine.cache_control import Block, add_cache_breakpoints
from tests.support.messages_api import VERSION, MessagesServerConfig
from tests.support.messages_api.cache import PromptCache
from tests.support.messages_api.model_specs import OPUS_5_5
from tests.support.messages_api.parsed_request import ParsedHeaders, parse_request
from tests.support.messages_api.prefix import prefix_parts
from tests.support.messages_api.shapes import MessagesRequest

SYSTEM: list[Block] = [{"type": "text", "text": "Be kind."}]
HEADERS = ParsedHeaders(VERSION, frozenset())
ENDPOINT = MessagesServerConfig(model_specs=(replace(OPUS_5_5, cache_minimum_tokens=1),))
MOST_MARKS = 4


@dataclass(frozen=True, slots=True)
class Request:
    """What a request adds to the one before, and what became of it."""

    reply_blocks: int
    """The reply before, which is missing from the first request."""
    added: Sequence[tuple[str, int]]
    """The messages behind the reply: who speaks, and in how many blocks."""
    ends_empty: bool = False
    """Whether the last of them ends in a text that can carry no mark."""
    is_answered: bool = True
    """What is not answered is not stored."""


def cache_reads(requests: Sequence[Request]) -> list[tuple[int, int]]:
    """Return, request by request, the tokens that were read, and the most that could be."""
    cache, messages = PromptCache(), list[Block]()
    found: list[tuple[int, int]] = []
    most = 0
    for number, request in enumerate(requests):
        messages += _added(request, number)
        system, marked = add_cache_breakpoints(SYSTEM, messages)
        assert _marks(system, marked) <= MOST_MARKS
        parsed = parse_request(_body(system, marked), MessagesRequest, HEADERS, ENDPOINT)
        usage, store = cache.account(parsed, prefix_parts(parsed.request))
        found.append((usage.read, most))
        if request.is_answered:
            store()
            most = max(most, usage.read + usage.written)
    return found


def _added(request: Request, number: int) -> list[Block]:
    reply = [("assistant", request.reply_blocks)] if number else []
    messages = [_message(role, count, number) for role, count in (*reply, *request.added)]
    if request.ends_empty:
        content = messages[-1]["content"]
        assert isinstance(content, list)
        content.append({"type": "text", "text": ""})
    return messages


def _message(role: str, blocks: int, number: int) -> Block:
    content: list[JsonValue] = [
        {"type": "text", "text": f"{number}, {block}"} for block in range(blocks)
    ]
    return {"role": role, "content": content}


def _body(system: Sequence[Block], messages: Sequence[Block]) -> dict[str, JsonValue]:
    return {
        "model": OPUS_5_5.id,
        "max_tokens": 1,
        "system": [*system],
        "messages": [*messages],
    }


def _marks(system: Sequence[Block], messages: Sequence[Block]) -> int:
    return str([*system, *messages]).count("cache_control")


def added(most_blocks: int) -> st.SearchStrategy[list[tuple[str, int]]]:
    """Return what may stand behind a reply: results, prompts, words of the system."""
    sizes = st.integers(1, most_blocks)
    first = st.tuples(st.just("user"), sizes)
    further = st.tuples(st.sampled_from(["user", "system"]), sizes)
    return st.tuples(first, st.lists(further, max_size=2)).map(lambda both: [both[0], *both[1]])


def requests_of(
    *, most_blocks: int = 45, is_answered: bool = True, ends_empty: bool | None = None
) -> st.SearchStrategy[Request]:
    """Return requests whose messages have so many blocks at most."""
    empty = st.booleans() if ends_empty is None else st.just(ends_empty)
    reply_blocks = st.integers(1, most_blocks)
    return st.builds(Request, reply_blocks, added(most_blocks), empty, st.just(is_answered))


LARGE = requests_of()
FAILED = requests_of(is_answered=False)
WHOLE_FAILED = requests_of(is_answered=False, ends_empty=False)
BRIEF_FAILED = st.lists(st.just(Request(1, [("user", 2)], is_answered=False)), max_size=6)


ALL_EXAMPLES = settings().max_examples
each_count = pytest.mark.parametrize(
    "examples",
    [
        pytest.param(min(15, ALL_EXAMPLES), id="some"),
        pytest.param(ALL_EXAMPLES, marks=pytest.mark.full, id="all"),
    ],
)


@each_count
def test_each_request_hits_the_cache_of_the_one_before(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(LARGE, min_size=2, max_size=7))
    def check(requests: list[Request]) -> None:
        assert all(read == most for read, most in cache_reads(requests))

    check()


@each_count
def test_one_failed_request_loses_no_cache(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(st.tuples(LARGE, st.none() | FAILED), min_size=2, max_size=4))
    def check(pairs: list[tuple[Request, Request | None]]) -> None:
        requests = [each for pair in pairs for each in pair if each is not None]
        assert all(read == most for read, most in cache_reads(requests))

    check()


@each_count
def test_several_short_failures_after_a_large_request_lose_no_cache(examples: int) -> None:
    @settings(max_examples=examples)
    @given(st.lists(LARGE, min_size=1, max_size=4), WHOLE_FAILED, BRIEF_FAILED, LARGE)
    def check(before: list[Request], large: Request, brief: list[Request], then: Request) -> None:
        found = cache_reads([*before, large, *brief, then])
        assert all(read == most for read, most in found)

    check()


@pytest.mark.parametrize("calls", [1, 9, 10, 19, 20, 21, 200])
def test_a_batch_of_any_size_is_cached_although_the_next_request_failed(calls: int) -> None:
    """The plain form, the last three messages, loses everything here from ten calls on."""
    found = cache_reads(
        [
            Request(0, [("user", 1)]),
            Request(calls, [("user", calls)], is_answered=False),
            Request(1, [("user", 1)]),
        ]
    )
    assert [read == most for read, most in found] == [True, True, True]


def test_a_second_removal_of_results_reads_what_the_first_one_left() -> None:
    cache, usages = PromptCache(), list[int]()
    for count, removals in ((60, ()), (60, (30,)), (62, (30,)), (90, (30,)), (90, (30, 60))):
        messages = [_message(("user", "assistant")[n % 2], 1, n) for n in range(count + 1)]
        for step, end in enumerate(removals):
            for index in range(removals[step - 1] if step else 0, end):
                messages[index] = _message(str(messages[index]["role"]), 1, -index - 1)
        ends = removals if len(removals) > 1 or count == 60 else removals[-1:]
        system, marked = add_cache_breakpoints(SYSTEM, messages, settled=ends)
        assert _marks(system, marked) <= MOST_MARKS
        parsed = parse_request(_body(system, marked), MessagesRequest, HEADERS, ENDPOINT)
        parts = prefix_parts(parsed.request)
        usage, store = cache.account(parsed, parts)
        store()
        until_first = sum(part.tokens for part in parts if part.section == "system")
        until_first += sum(
            part.tokens
            for part in parts
            if part.path.startswith("messages.") and int(part.path.split(".")[1]) <= 28
        )
        usages.append(usage.read - until_first)
    assert usages[-1] >= 0
