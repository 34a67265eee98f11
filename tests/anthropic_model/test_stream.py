"""What each event of a streamed message means for the engine, and when the message counts."""

import json

import pytest

from acp_server.models.anthropic.stream import AnthropicStreamError, MessageStream
from acp_server.turn.events import Usage
from acp_server.turn.ports import (
    ModelEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingRedacted,
    ThinkingSigned,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
)
from tests.support.editor import Object

CALL: Object = {"type": "tool_use", "id": "toolu_1", "name": "read_file", "input": {}}
USAGE: Object = {"input_tokens": 5, "output_tokens": 1}


def begin(block: Object, index: int = 0) -> Object:
    """Return the start of a content block."""
    return {"type": "content_block_start", "index": index, "content_block": block}


def go_on(delta: Object, index: int = 0) -> Object:
    """Return a fragment of a content block."""
    return {"type": "content_block_delta", "index": index, "delta": delta}


def end(stop_reason: str | None) -> Object:
    """Return the end of a message's content."""
    return {"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": USAGE}


def translate(stream: MessageStream, *events: Object) -> list[ModelEvent | None]:
    """Return the meanings of events."""
    return [stream.translate(json.dumps(event)) for event in events]


MEANINGS: dict[str, tuple[Object, ModelEvent]] = {
    "a new text": (begin({"type": "text", "text": "a"}), TextDelta("a", is_new=True)),
    "more text": (go_on({"type": "text_delta", "text": "b"}), TextDelta("b")),
    "a new thought": (begin({"type": "thinking"}), ThinkingDelta("", is_new=True)),
    "more of a thought": (go_on({"type": "thinking_delta", "thinking": "c"}), ThinkingDelta("c")),
    "a signature": (go_on({"type": "signature_delta", "signature": "d"}), ThinkingSigned("d")),
    "a hidden thought": (begin({"type": "redacted_thinking", "data": "e"}), ThinkingRedacted("e")),
    "a call": (begin(CALL), ToolCallStarted("toolu_1", "read_file")),
}


@pytest.mark.parametrize("case", MEANINGS)
def test_each_event_has_its_meaning(case: str) -> None:
    event, meaning = MEANINGS[case]
    assert translate(MessageStream(str), event) == [meaning]


def test_arguments_belong_to_the_call_of_their_block() -> None:
    fragment: Object = {"type": "input_json_delta", "partial_json": "{}"}
    stop: Object = {"type": "content_block_stop", "index": 1}
    other_stop: Object = {"type": "content_block_stop", "index": 0}
    begun = begin({"type": "text"}), begin(CALL, index=1)
    assert translate(MessageStream(str), *begun, go_on(fragment, index=1), stop, other_stop)[
        2:
    ] == [
        ToolCallDelta("toolu_1", "{}"),
        ToolCallCompleted("toolu_1"),
        None,
    ]


@pytest.mark.parametrize(
    ("event", "has_content"),
    [
        pytest.param({"type": "ping"}, False, id="ping"),
        pytest.param({"type": "message_start", "message": {"usage": USAGE}}, False, id="start"),
        pytest.param(begin({"type": "text"}), False, id="empty text"),
        pytest.param(go_on({"type": "text_delta", "text": "b"}), True, id="text"),
        pytest.param(begin({"type": "redacted_thinking", "data": "e"}), True, id="hidden thought"),
        pytest.param(begin(CALL), True, id="call"),
        pytest.param(
            begin({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}}),
            True,
            id="call of a server tool",
        ),
    ],
)
def test_a_message_may_be_requested_again_until_content_was_passed_on(
    event: Object, *, has_content: bool
) -> None:
    stream = MessageStream(str)
    assert (stream.has_started, stream.has_content) == (False, False)
    translate(stream, event)
    assert (stream.has_started, stream.has_content) == (True, has_content)


def test_a_message_is_complete_only_with_its_last_event() -> None:
    stream = MessageStream(str)
    translate(stream, end("tool_use"))
    assert (stream.stop, stream.is_closed) == ("tool_use", False)
    translate(stream, {"type": "message_stop"})
    assert stream.is_closed


@pytest.mark.parametrize("stop_reason", [None, "a later one"])
def test_a_stop_reason_that_is_missing_or_unknown_ends_the_turn(stop_reason: str | None) -> None:
    stream = MessageStream(str)
    translate(stream, end(stop_reason))
    assert stream.stop == "end_turn"


def test_the_usage_is_empty_until_it_is_reported() -> None:
    stream = MessageStream(str)
    assert stream.usage == Usage()
    assert translate(stream, end("end_turn")) == [UsageReported(Usage(5, 1))]


def test_an_error_within_the_stream_has_its_kind_and_text() -> None:
    error: Object = {"type": "overloaded_error", "message": "Overloaded"}
    with pytest.raises(AnthropicStreamError, match=r"^Overloaded$") as raised:
        translate(MessageStream(str), {"type": "error", "error": error})
    assert raised.value.kind == "overloaded_error"
