"""Builds HTTP responses from content blocks: an event stream or one JSON object."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from tests.support.messages_api.cache import ApiUsage, InputUsage
from tests.support.messages_api.content_blocks import ContentBlock
from tests.support.messages_api.failures import JSON
from tests.support.messages_api.faults import sse_event
from tests.support.messages_api.parsed_request import Object
from tests.support.messages_api.response_steps import (
    ResponsePlan,
    ResponseStep,
    Wait,
    WaitForGate,
    Write,
)
from tests.support.messages_api.script import ScriptedReply

EVENT_STREAM = "text/event-stream; charset=utf-8"
FIRST_OUTPUT_TOKENS = 1


@dataclass(frozen=True, slots=True)
class AssistantResponse:
    """Assistant message, ready to be sent."""

    id: str
    model: str
    reply: ScriptedReply
    content: tuple[ContentBlock, ...]
    input: InputUsage
    extra: Object
    """Additional top-level fields of the response, such as `input_transformations`."""
    speed: str | None = None
    """The speed that the request named."""

    @property
    def usage(self) -> ApiUsage:
        """Usage of the complete message."""
        thinking = sum(each.tokens for each in self.content if _is_thinking(each))
        output = sum(each.tokens for each in self.content)
        return ApiUsage(self.input, output, thinking, self.speed)


def _is_thinking(composed: ContentBlock) -> bool:
    return composed.complete["type"] in {"thinking", "redacted_thinking"}


def build_answer(
    response: AssistantResponse, request_id: str, *, is_streamed: bool
) -> ResponsePlan:
    """Return the response steps for a message, with the reply's faults applied."""
    reply = response.reply
    body = json.dumps(build_message(response), ensure_ascii=False).encode()
    steps: list[ResponseStep] = list(_events(response)) if is_streamed else [Write(body)]
    for fault in reply.faults:
        steps = fault.apply(steps)
    content_type = reply.content_type or (EVENT_STREAM if is_streamed else JSON)
    before: list[ResponseStep] = (
        [Wait(reply.head_delay_seconds)] if reply.head_delay_seconds else []
    )
    if reply.head_gate is not None:
        before.append(WaitForGate(reply.head_gate))
    headers = (("content-type", content_type), ("request-id", request_id))
    is_chunked = is_streamed or bool(reply.faults)
    return ResponsePlan(200, headers, tuple(steps), tuple(before), is_chunked)


def build_message(spoken: AssistantResponse) -> Object:
    """Return the complete message, as a response without streaming has it."""
    content: list[JsonValue] = [composed.complete for composed in spoken.content]
    return _message(spoken, spoken.usage, content, _stop_fields(spoken.reply))


def _message(
    spoken: AssistantResponse, usage: ApiUsage, content: list[JsonValue], ending: Object
) -> Object:
    return {
        "model": spoken.model,
        "id": spoken.id,
        "type": "message",
        "role": "assistant",
        "content": content,
        **ending,
        "usage": usage.as_json(),
        **spoken.extra,
    }


def _stop_fields(reply: ScriptedReply) -> Object:
    return {
        "stop_reason": reply.stop_reason,
        "stop_sequence": reply.stop_sequence,
        "stop_details": _stop_details(reply),
    }


def _stop_details(reply: ScriptedReply) -> JsonValue:
    if reply.stop_reason != "refusal":
        return None
    return {"type": "refusal", "category": reply.refused_category, "explanation": None}


def _events(spoken: AssistantResponse) -> Iterator[ResponseStep]:
    nothing: Object = {"stop_reason": None, "stop_sequence": None, "stop_details": None}
    start = _message(
        spoken, ApiUsage(spoken.input, FIRST_OUTPUT_TOKENS, speed=spoken.speed), [], nothing
    )
    yield sse_event("message_start", {"type": "message_start", "message": start})
    if not spoken.content:
        yield sse_event("ping", {"type": "ping"})
    for index, composed in enumerate(spoken.content):
        yield from _block_events(spoken.reply, index, composed)
    delta = _stop_fields(spoken.reply)
    usage = spoken.usage.as_delta_json()
    yield sse_event("message_delta", {"type": "message_delta", "delta": delta, "usage": usage})
    yield sse_event("message_stop", {"type": "message_stop"})


def _block_events(
    reply: ScriptedReply, index: int, composed: ContentBlock
) -> Iterator[ResponseStep]:
    start: Object = {"type": "content_block_start", "index": index}
    yield sse_event("content_block_start", {**start, "content_block": composed.start})
    if index == 0:
        yield sse_event("ping", {"type": "ping"})
    for delta in composed.deltas:
        if reply.pause_seconds and delta.chunks:
            yield Wait(reply.pause_seconds * delta.chunks)
        carried: Object = {"type": "content_block_delta", "index": index, "delta": delta.data}
        yield sse_event("content_block_delta", carried)
    yield sse_event("content_block_stop", {"type": "content_block_stop", "index": index})
