"""A conversation made shorter: what stays, what is summed up, and that providers take it back."""

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acp_server.turn.compaction import (
    MAX_OLD_RESULT_CHARACTERS,
    SUMMARY_HEADING,
    TAIL_MESSAGES,
    UNCUT_MESSAGES,
    build_compacted_messages,
    build_summary_request,
    split_for_compaction,
)
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    RedactedThinking,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tests.turn.turn_harness import history_errors

THOUGHT = Thinking("Hm.", "seal")
SUMMARY = Text(f"{SUMMARY_HEADING}\n\nSo far so good.")


def text_turn(number: int) -> list[Message]:
    """An exchange of two messages."""
    return [
        UserMessage((Text(f"question {number}"),)),
        AssistantMessage((THOUGHT, Text(f"answer {number}"))),
    ]


def call_turn(number: int, output: str = "out") -> list[Message]:
    """An exchange with a call: four messages."""
    call = ToolCall(f"c{number}", "read_file", "{}")
    return [
        UserMessage((Text(f"task {number}"),)),
        AssistantMessage((THOUGHT, call)),
        UserMessage((ToolResult(call.id, output),)),
        AssistantMessage((Text(f"done {number}"),)),
    ]


def joined(*exchanges: list[Message]) -> list[Message]:
    """One conversation of these."""
    return [message for exchange in exchanges for message in exchange]


@pytest.mark.parametrize("count", [0, 1, 5, 12])
def test_a_short_conversation_is_unchanged(count: int) -> None:
    assert split_for_compaction(joined(*(text_turn(number) for number in range(count)))) is None


def test_the_first_and_last_messages_are_kept() -> None:
    messages = joined(*(text_turn(number) for number in range(20)))
    parts = split_for_compaction(messages)
    assert parts is not None
    assert parts.head == tuple(messages[:3])
    assert parts.middle == tuple(messages[3:20])
    assert parts.tail == tuple(messages[20:])
    assert len(parts.tail) == TAIL_MESSAGES


def test_a_call_stays_with_its_result() -> None:
    messages = joined(*(call_turn(number) for number in range(10)), text_turn(10))
    for length in range(30, len(messages) + 1):
        parts = split_for_compaction(messages[:length])
        assert parts is not None
        assert parts.head == tuple(messages[:3])
        assert not any(isinstance(part, ToolResult) for part in parts.tail[0].parts)


def test_the_first_calls_keep_their_results() -> None:
    second_try = UserMessage((Text("again"),))
    messages = [second_try, *joined(*(call_turn(number) for number in range(10)))]
    parts = split_for_compaction(messages)
    assert parts is not None
    assert parts.head == tuple(messages[:4])


def test_the_summary_request_leaves_all_earlier_messages_unchanged() -> None:
    messages = joined(text_turn(1))
    *before, question = build_summary_request(messages, "the tests")
    assert before == messages
    assert isinstance(question, UserMessage)
    [text] = question.parts
    assert isinstance(text, Text)
    assert text.text.endswith("Pay particular attention to: the tests")


def test_the_summary_request_is_merged_into_a_last_user_message() -> None:
    messages = call_turn(1)[:3]
    *before, last = build_summary_request(messages)
    assert before == messages[:2]
    assert isinstance(last, UserMessage)
    assert last.parts[0] == ToolResult("c1", "out")
    assert len(last.parts) == 2


def test_the_summary_precedes_the_kept_messages_and_reasoning_is_dropped() -> None:
    messages = joined(*(text_turn(number) for number in range(20)))
    parts = split_for_compaction(messages)
    assert parts is not None
    first, second, *rest = build_compacted_messages(parts, " So far so good. \n")
    assert (first, second) == (messages[0], AssistantMessage((Text("answer 0"),)))
    assert rest[:3] == [messages[2], AssistantMessage((SUMMARY,)), messages[20]]


def test_after_results_the_summary_is_merged_into_them() -> None:
    messages = joined(*(call_turn(number) for number in range(10)))[:-1]
    parts = split_for_compaction(messages)
    assert parts is not None
    short = build_compacted_messages(parts, "So far so good.")
    assert short[2] == UserMessage((ToolResult("c0", "out"), SUMMARY))
    assert isinstance(short[3], AssistantMessage)


@pytest.mark.parametrize("exchange", [text_turn, call_turn])
def test_a_second_summary_replaces_the_first(
    exchange: Callable[[int], list[Message]],
) -> None:
    messages: Sequence[Message] = joined(*(exchange(number) for number in range(15)))
    for _ in range(3):
        parts = split_for_compaction(messages)
        assert parts is not None
        short = build_compacted_messages(parts, "So far so good.")
        texts = [part for message in short for part in message.parts if part == SUMMARY]
        assert texts == [SUMMARY]
        assert history_errors(short) == []
        messages = [*short, *joined(*(exchange(number) for number in range(20, 25)))]


def test_old_output_is_truncated_and_new_output_kept() -> None:
    long = "x" * (MAX_OLD_RESULT_CHARACTERS + 1)
    messages = joined(*(call_turn(number, long) for number in range(12)))
    parts = split_for_compaction(messages)
    assert parts is not None
    short = build_compacted_messages(parts, "So.")
    outputs = [
        len(part.text) == len(long)
        for message in short
        for part in message.parts
        if isinstance(part, ToolResult)
    ]
    assert outputs == [False, False, False, False, True, True]
    assert UNCUT_MESSAGES == 6


@given(st.lists(st.sampled_from(["asked", "worked", "sealed"]), min_size=6, max_size=30))
def test_a_compacted_history_is_valid_for_a_provider(kinds: Sequence[str]) -> None:
    exchanges: list[list[Message]] = []
    for number, kind in enumerate(kinds):
        exchange = call_turn(number) if kind == "worked" else text_turn(number)
        if kind == "sealed":
            exchange[-1] = AssistantMessage((RedactedThinking("…"), Text("so")))
        exchanges.append(exchange)
    messages = joined(*exchanges)
    parts = split_for_compaction(messages)
    if parts is None:
        return
    short = build_compacted_messages(parts, "So.")
    assert history_errors(short) == []
    assert len(short) < len(messages)
    assert all(type(a) is not type(b) for a, b in pairwise(short))
    assert short[-1].parts[-1] == messages[-1].parts[-1]
