"""Where the cache breakpoints stand."""

import doctest

import pytest
from pydantic import JsonValue

import prompt_engine
from prompt_engine import cache_control
from prompt_engine.cache_control import Block, mark

EPHEMERAL: JsonValue = {"type": "ephemeral"}


def text(said: str) -> Block:
    return {"type": "text", "text": said}


def message(role: str, *blocks: Block) -> Block:
    return {"role": role, "content": list(blocks)}


def marked(block: Block) -> Block:
    return {**block, "cache_control": EPHEMERAL}


def test_the_system_prompt_and_the_last_three_messages_are_marked() -> None:
    messages = [message("user", text(str(number))) for number in range(5)]
    system, copies = mark([text("a"), text("b")], messages)
    assert system == [text("a"), marked(text("b"))]
    assert copies == [
        *messages[:2],
        *(message("user", marked(text(str(number)))) for number in range(2, 5)),
    ]


def test_only_the_last_block_of_a_message_is_marked() -> None:
    _, copies = mark([], [message("user", text("a"), text("b"))])
    assert copies == [message("user", text("a"), marked(text("b")))]


@pytest.mark.parametrize(
    "last", [{"type": "thinking", "thinking": "hm"}, {"type": "redacted_thinking"}, text("")]
)
def test_what_cannot_carry_a_mark_is_passed_over_for_an_earlier_message(last: Block) -> None:
    messages = [message("user", text("a")), message("assistant", text("b"), last)]
    _, copies = mark([], messages)
    assert copies == [message("user", marked(text("a"))), messages[1]]


def test_the_callers_messages_are_not_changed() -> None:
    system, messages = [text("a")], [message("user", text("b"))]
    mark(system, messages)
    assert (system, messages) == ([text("a")], [message("user", text("b"))])


def test_an_hour_is_written_into_the_mark() -> None:
    system, _ = mark([text("a")], [], "1h")
    assert system == [{**text("a"), "cache_control": {"type": "ephemeral", "ttl": "1h"}}]


def test_nothing_to_mark_is_no_error() -> None:
    assert mark([], []) == ([], [])


@pytest.mark.parametrize(
    "module", [cache_control, prompt_engine], ids=lambda module: module.__name__
)
def test_the_examples_hold(module: object) -> None:
    results = doctest.testmod(module)  # pyright: ignore[reportArgumentType]  any module
    assert (results.failed, results.attempted > 0) == (0, True)
