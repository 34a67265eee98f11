"""Translates the events of one streamed message into model events, one to one.

Works on the raw events: the SDK's stream helper rebuilds the whole message at every chunk, and its
typed events cost three times as much as parsing their JSON. Imports no SDK.
Source: https://docs.anthropic.com/en/docs/build-with-claude/streaming
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import TypedDict, cast

from pydantic import JsonValue

from acp_server.models.anthropic.server_tools import ServerToolCalls, Wire
from acp_server.models.usage_counts import parse_count
from acp_server.text.json_values import Object, as_object, as_text
from acp_server.turn.events import Usage
from acp_server.turn.ports import (
    ModelEvent,
    ModelStop,
    TextCited,
    TextDelta,
    ThinkingDelta,
    ThinkingRedacted,
    ThinkingSigned,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
)

_STOPS: dict[str, ModelStop] = {
    "end_turn": "end_turn",
    "stop_sequence": "end_turn",
    "max_tokens": "max_tokens",
    "model_context_window_exceeded": "max_tokens",
    "tool_use": "tool_use",
    "pause_turn": "pause",
    "refusal": "refusal",
}


# Shapes of the wire format. The keys present depend on `type`; a missing key means malformed data.


class WireDelta(TypedDict):
    """A fragment of a block; `type` determines which field is present."""

    type: str
    text: str
    thinking: str
    signature: str
    partial_json: str
    stop_reason: str | None
    citation: dict[str, JsonValue]


class WireBlock(TypedDict):
    """The start of a content block."""

    type: str
    text: str
    thinking: str
    data: str
    id: str
    name: str


class WireMessage(TypedDict):
    """The start of a message."""

    model: str
    usage: Object


class WireError(TypedDict):
    """The content of an `error` event."""

    type: str
    message: str


class WireEvent(TypedDict):
    """A stream event; `type` determines which fields are present."""

    type: str
    index: int
    content_block: WireBlock
    delta: WireDelta
    message: WireMessage
    usage: Object
    error: WireError


class MalformedAnthropicEventError(Exception):
    """An event is malformed or not defined by the Messages API."""


class AnthropicStreamError(Exception):
    """The endpoint sent an `error` event inside the stream; `kind` is its error type."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class MessageStream:
    """State of one message being streamed; translates events and tracks how the message ends."""

    def __init__(self, new_call_id: Callable[[str], str], *, is_fast: bool = False) -> None:
        """Start a message; `new_call_id` maps a wire id to one unique in the conversation.

        `is_fast` says whether fast mode was asked for, which the usage may confirm or correct.
        """
        self._is_fast = is_fast
        self.stop: ModelStop | None = None
        """The stop reason; None until it has arrived."""
        self.is_closed = False
        """Whether the message is complete."""
        self.has_started = False
        """Whether any event has arrived."""
        self.has_content = False
        """Whether any content was passed on; the user may have seen it."""
        self._new_call_id = new_call_id
        self._call_ids: dict[int, str] = {}
        self._server_calls = ServerToolCalls()
        self.usage = Usage()
        """The usage reported so far; some endpoints report none."""
        self.model = ""
        """The model as the endpoint names it."""

    def translate(self, data: str) -> ModelEvent | None:
        """Translate the data of an event; None if the event has no meaning for the engine.

        Raises:
            MalformedAnthropicEventError: The data is not an event of the API.
            AnthropicStreamError: The event reports an error of the endpoint.
        """
        self.has_started = True
        try:
            return self._translate_event(cast("WireEvent", json.loads(data)))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise MalformedAnthropicEventError(f"{type(error).__name__}: {error}") from error

    def _translate_event(self, event: WireEvent) -> ModelEvent | None:
        meaning: ModelEvent | None = None
        match event["type"]:
            case "content_block_delta":
                meaning = self._block_delta(event)
            case "content_block_start":
                meaning = self._block_start(event)
            case "content_block_stop":
                index = event["index"]
                if index in self._call_ids:
                    meaning = ToolCallCompleted(self._call_ids[index])
                else:
                    meaning = self._server_calls.end(index)
            case "message_start":
                self.model = as_text(event["message"].get("model"))
                wire = as_object(event["message"].get("usage"))
                self.usage = replace(_parse_usage(wire), is_fast=self._ran_fast(wire))
                meaning = UsageReported(self.usage, self.model)
            case "message_delta":
                self.stop = _STOPS.get(event["delta"]["stop_reason"] or "", "end_turn")
                wire = as_object(event.get("usage"))
                final = _merge_final_usage(self.usage, wire)
                self.usage = replace(final, is_fast=self._ran_fast(wire))
                meaning = UsageReported(self.usage, self.model)
            case "error":
                raise AnthropicStreamError(event["error"]["type"], event["error"]["message"])
            case "message_stop":
                self.is_closed = True
            case _:  # a ping, or an event of a later API version
                pass
        return meaning

    def _ran_fast(self, usage: Object) -> bool:
        """Return whether the message is priced as fast mode; later reports correct earlier ones."""
        if usage.get("speed") in {"standard", "fast"}:
            self._is_fast = usage["speed"] == "fast"
        return self._is_fast

    def _block_start(self, event: WireEvent) -> ModelEvent | None:
        block = event["content_block"]
        match block["type"]:
            case "text":
                return TextDelta(block.get("text", ""), is_new=True)
            case "thinking":
                return ThinkingDelta(block.get("thinking", ""), is_new=True)
            case "redacted_thinking":
                self.has_content = True
                return ThinkingRedacted(block["data"])
            case "tool_use":
                self.has_content = True
                call_id = self._new_call_id(block.get("id") or "")
                self._call_ids[event["index"]] = call_id
                return ToolCallStarted(call_id, block["name"])
            case _:  # a block of a server tool, or of a later API version
                self.has_content = True
                return self._server_calls.start(event["index"], cast("Wire", block))

    def _block_delta(self, event: WireEvent) -> ModelEvent | None:
        self.has_content = True
        delta = event["delta"]
        match delta["type"]:
            case "text_delta":
                return TextDelta(delta["text"])
            case "thinking_delta":
                return ThinkingDelta(delta["thinking"])
            case "signature_delta":
                return ThinkingSigned(delta["signature"])
            case "input_json_delta":
                index, fragment = event["index"], delta["partial_json"]
                if index in self._call_ids:
                    return ToolCallDelta(self._call_ids[index], fragment)
                self._server_calls.add_input(index, fragment)
            case "citations_delta":
                return TextCited(delta["citation"])
            case _:
                pass
        return None


def _parse_usage(wire: Object) -> Usage:
    written_tokens = parse_count(wire.get("cache_creation_input_tokens"))
    detail = as_object(wire.get("cache_creation"))
    long_lived = min(parse_count(detail.get("ephemeral_1h_input_tokens")), written_tokens)
    return Usage(
        input_tokens=parse_count(wire.get("input_tokens")),
        output_tokens=parse_count(wire.get("output_tokens")),
        cache_read_tokens=parse_count(wire.get("cache_read_input_tokens")),
        cache_write_5m_tokens=written_tokens - long_lived,
        cache_write_1h_tokens=long_lived,
    )


def _merge_final_usage(start: Usage, wire: Object) -> Usage:
    """Return the usage of a complete message.

    The prompt tokens can grow during the message (server tools), and some endpoints report them
    only at the end. The final event does not split cache writes by lifetime, so keep the first
    split.
    """
    final = _parse_usage(wire)
    if final.prompt_tokens <= start.prompt_tokens:
        return replace(start, output_tokens=final.output_tokens)
    long_lived = min(start.cache_write_1h_tokens, final.cache_write_tokens)
    short_lived = final.cache_write_tokens - long_lived
    return replace(final, cache_write_5m_tokens=short_lived, cache_write_1h_tokens=long_lived)
