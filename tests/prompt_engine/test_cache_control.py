"""Where the cache breakpoints stand."""

import doctest

import pytest
from pydantic import JsonValue

import prompt_engine
from prompt_engine import cache_control
from prompt_engine.cache_control import Block, add_cache_breakpoints

EPHEMERAL: JsonValue = {"type": "ephemeral"}


def text(content: str) -> Block:
    return {"type": "text", "text": content}


def message(role: str, *blocks: Block) -> Block:
    return {"role": role, "content": list(blocks)}


def marked(block: Block) -> Block:
    return {**block, "cache_control": EPHEMERAL}


def turns(*sizes: int) -> list[Block]:
    """Return messages of so many blocks, the user's and the model's in turn."""
    return [
        message(("user", "assistant")[index % 2], *(text(f"{index}.{n}") for n in range(size)))
        for index, size in enumerate(sizes)
    ]


def marked_indexes(messages: list[Block], *settled: int) -> list[int]:
    """Return which messages are marked."""
    _, copies = add_cache_breakpoints([], messages, settled=settled)
    return [index for index, copy in enumerate(copies) if "cache_control" in str(copy)]


def test_the_last_block_of_the_system_prompt_is_marked() -> None:
    assert add_cache_breakpoints([text("a"), text("b")], []) == ([text("a"), marked(text("b"))], [])


@pytest.mark.parametrize(
    ("messages", "places"),
    [
        pytest.param(turns(1), [0], id="the first prompt"),
        pytest.param(turns(1, 1, 1), [0, 2], id="an answer and a prompt"),
        pytest.param(turns(*[1] * 7), [2, 4, 6], id="all within reach: the next older end"),
        pytest.param(turns(*[1] * 31), [8, 28, 30], id="an older end at the edge of the reach"),
        pytest.param(turns(1, 30, 30, 1, 1), [0, 2, 4], id="a large batch"),
        pytest.param([*turns(1, 3), *turns(3), *turns(1)], [0, 3], id="results, then a prompt"),
        pytest.param([*turns(1, 1), *turns(1, 1)[1:], *turns(1)], [0, 1, 3], id="two replies"),
    ],
)
def test_marks_are_placed_at_the_end_of_this_request_and_earlier_ones(
    messages: list[Block], places: list[int]
) -> None:
    assert marked_indexes(messages) == places


def test_a_long_conversation_is_not_read_to_its_beginning() -> None:
    """It is sent with every request, of which each may cost only what is new."""
    unreadable: list[Block] = [{}]
    _, copies = add_cache_breakpoints([], [*unreadable, *turns(*[1] * 31)])
    assert [index for index, copy in enumerate(copies) if "cache_control" in str(copy)] == [
        9,
        29,
        31,
    ]


def test_only_the_last_block_of_a_message_is_marked() -> None:
    _, copies = add_cache_breakpoints([], [message("user", text("a"), text("b"))])
    assert copies == [message("user", text("a"), marked(text("b")))]


@pytest.mark.parametrize(
    "last", [{"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking"}, text("")]
)
def test_a_message_that_cannot_carry_a_mark_passes_it_to_an_earlier_one(last: Block) -> None:
    messages = [message("user", text("a")), message("assistant", text("b"), last)]
    _, copies = add_cache_breakpoints([], messages)
    assert copies == [message("user", marked(text("a"))), messages[1]]


def test_the_callers_messages_are_not_changed() -> None:
    system, messages = [text("a")], [message("user", text("b"))]
    add_cache_breakpoints(system, messages)
    assert (system, messages) == ([text("a")], [message("user", text("b"))])


def test_a_one_hour_lifetime_is_written_into_the_mark() -> None:
    system, _ = add_cache_breakpoints([text("a")], [], "1h")
    assert system == [{**text("a"), "cache_control": {"type": "ephemeral", "ttl": "1h"}}]


def test_no_markable_message_is_no_error() -> None:
    assert add_cache_breakpoints([], []) == ([], [])


@pytest.mark.parametrize(
    "module", [cache_control, prompt_engine], ids=lambda module: module.__name__
)
def test_the_doctests_pass(module: object) -> None:
    results = doctest.testmod(module)  # pyright: ignore[reportArgumentType]  any module
    assert (results.failed, results.attempted > 0) == (0, True)


def test_settled_ends_keep_a_mark_beside_those_of_the_last_two_requests() -> None:
    assert marked_indexes(turns(*[1] * 61), 31) == [30, 58, 60]
    assert marked_indexes(turns(*[1] * 61), 11, 31) == [10, 30, 60]
    assert marked_indexes(turns(*[1] * 61), 61) == [58, 60]
    assert marked_indexes(turns(1), 1) == [0]
