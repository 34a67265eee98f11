"""Builds HTTP responses from content blocks: an event stream or one JSON object."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from tests.support.messages_api.cache import InputUsage, Usage
from tests.support.messages_api.content_blocks import Composed
from tests.support.messages_api.failures import JSON
from tests.support.messages_api.faults import event
from tests.support.messages_api.parsed_request import Object
from tests.support.messages_api.response_steps import Answer, Hold, Step, Wait, Write
from tests.support.messages_api.script import Reply

EVENT_STREAM = "text/event-stream; charset=utf-8"
FIRST_OUTPUT_TOKENS = 1


@dataclass(frozen=True, slots=True)
class Spoken:
    """Assistant message, ready to be sent."""

    id: str
    model: str
    said: Reply
    content: tuple[Composed, ...]
    input: InputUsage
    extra: Object
    """Additional top-level fields of the response, such as `input_transformations`."""

    @property
    def usage(self) -> Usage:
        """Usage of the complete message."""
        thinking = sum(each.tokens for each in self.content if _is_thinking(each))
        return Usage(self.input, sum(each.tokens for each in self.content), thinking)


def _is_thinking(composed: Composed) -> bool:
    return composed.whole["type"] in {"thinking", "redacted_thinking"}


def answer_of(spoken: Spoken, request_id: str, *, is_streamed: bool) -> Answer:
    """Return the response steps for a message, with the reply's faults applied."""
    said = spoken.said
    whole = json.dumps(message_of(spoken), ensure_ascii=False).encode()
    steps: list[Step] = list(_events(spoken)) if is_streamed else [Write(whole)]
    for fault in said.faults:
        steps = fault.apply(steps)
    content_type = said.content_type or (EVENT_STREAM if is_streamed else JSON)
    before: list[Step] = [Wait(said.head_delay_seconds)] if said.head_delay_seconds else []
    if said.head_gate is not None:
        before.append(Hold(said.head_gate))
    headers = (("content-type", content_type), ("request-id", request_id))
    is_chunked = is_streamed or bool(said.faults)
    return Answer(200, headers, tuple(steps), tuple(before), is_chunked)


def message_of(spoken: Spoken) -> Object:
    """Return the complete message, as a response without streaming has it."""
    content: list[JsonValue] = [composed.whole for composed in spoken.content]
    return _message(spoken, spoken.usage, content, _ending(spoken.said))


def _message(spoken: Spoken, usage: Usage, content: list[JsonValue], ending: Object) -> Object:
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


def _ending(said: Reply) -> Object:
    return {
        "stop_reason": said.stop_reason,
        "stop_sequence": said.stop_sequence,
        "stop_details": _stop_details(said),
    }


def _stop_details(said: Reply) -> JsonValue:
    if said.stop_reason != "refusal":
        return None
    return {"type": "refusal", "category": said.refused_category, "explanation": None}


def _events(spoken: Spoken) -> Iterator[Step]:
    nothing: Object = {"stop_reason": None, "stop_sequence": None, "stop_details": None}
    start = _message(spoken, Usage(spoken.input, FIRST_OUTPUT_TOKENS), [], nothing)
    yield event("message_start", {"type": "message_start", "message": start})
    if not spoken.content:
        yield event("ping", {"type": "ping"})
    for index, composed in enumerate(spoken.content):
        yield from _block_events(spoken.said, index, composed)
    delta = _ending(spoken.said)
    usage = spoken.usage.so_far()
    yield event("message_delta", {"type": "message_delta", "delta": delta, "usage": usage})
    yield event("message_stop", {"type": "message_stop"})


def _block_events(said: Reply, index: int, composed: Composed) -> Iterator[Step]:
    start: Object = {"type": "content_block_start", "index": index}
    yield event("content_block_start", {**start, "content_block": composed.opening})
    if index == 0:
        yield event("ping", {"type": "ping"})
    for delta in composed.deltas:
        if said.pause_seconds and delta.chunks:
            yield Wait(said.pause_seconds * delta.chunks)
        carried: Object = {"type": "content_block_delta", "index": index, "delta": delta.data}
        yield event("content_block_delta", carried)
    yield event("content_block_stop", {"type": "content_block_stop", "index": index})
