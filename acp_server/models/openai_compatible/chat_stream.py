"""Translates the chunks of one chat completion into model events.

Tolerates the deviations of real endpoints: calls without ids, indexes or names, arguments as
objects, different fields for reasoning, late, partial or missing usage, and various stop reasons.
Source: https://developers.openai.com/api/reference/resources/chat
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from acp_server.models.openai_compatible.answer_stream import DONE, AnswerStream
from acp_server.models.openai_compatible.think_tags import ThinkTags
from acp_server.models.openai_compatible.wire import parse_chat_usage, parse_error, parse_event
from acp_server.models.reasoning_signature import ReasoningSignature
from acp_server.text.json_values import Object, as_object, as_objects, as_text
from acp_server.turn.events import Usage
from acp_server.turn.ports import (
    ModelEvent,
    ModelStop,
    TextDelta,
    ThinkingDelta,
    ThinkingRedacted,
    ThinkingSigned,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
)

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_STOPS: dict[str, ModelStop] = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "refusal": "refusal",
}
_ERROR_FINISH = "error"


@dataclass(slots=True)
class _PartialCall:
    """A tool call while it is streamed.

    `wire_id` is the endpoint's id, possibly empty; `id` is unique in the conversation.
    """

    wire_id: str
    index: JsonValue
    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list[str])
    extra_content: JsonValue = None
    has_ended: bool = False

    @property
    def has_complete_arguments(self) -> bool:
        """Whether the arguments received so far are complete JSON."""
        try:
            json.loads("".join(self.arguments))
        except (ValueError, RecursionError):
            return False
        return True


class ChatStream(AnswerStream):
    """A chat completion."""

    def __init__(self, signature: ReasoningSignature, new_call_id: Callable[[str], str]) -> None:
        super().__init__(signature, new_call_id)
        self._tags = ThinkTags()
        self._calls: list[_PartialCall] = []
        self._reasoning_field: str | None = None
        """The field of the reasoning that is being streamed; None outside of reasoning."""
        self._details: list[Object] = []

    def translate(self, data: str) -> Iterable[ModelEvent]:
        """Translate the data of an event.

        Raises:
            MalformedOpenAiEventError: The data is not a chunk of a chat completion.
            OpenAiStreamError: The chunk reports an error of the endpoint.
        """
        self.has_started = True
        if data.startswith("[") and data.strip() == DONE:
            self.is_closed = True
            # Some endpoints never send a finish_reason.
            return self._end("stop") if self.stop is None and self.has_content else ()
        chunk = parse_event(data)
        plain = self._text_only_delta(chunk)
        return (plain,) if plain is not None else self._translate_chunk(chunk)

    def _text_only_delta(self, chunk: Object) -> TextDelta | None:
        """Translate a text-only chunk; None for any other. Fast path: most chunks are text only."""
        if not self._tags.is_plain or self._reasoning_field is not None or chunk.get("usage"):
            return None
        match chunk.get("choices"):
            case [{"delta": {"content": str(text), **more}, **choice}] if text and not more:
                if choice.get("finish_reason") is not None or chunk.get("error"):
                    return None
                self.character_count += len(text)
                return TextDelta(text)
            case _:
                return None

    def translate_complete(self, body: Object) -> Iterator[ModelEvent]:
        """Translate a complete completion that an endpoint sent instead of the requested stream.

        Raises:
            OpenAiStreamError: The completion reports an error of the endpoint.
        """
        self.has_started = True
        yield from self._translate_chunk(body)
        self.is_closed = True

    def _translate_chunk(self, chunk: Object) -> Iterator[ModelEvent]:
        if chunk.get("error"):
            raise parse_error(chunk["error"])
        choices = as_objects(chunk.get("choices"))
        choice = choices[0] if choices else {}
        delta = as_object(choice.get("delta") or choice.get("message"))
        if delta:
            yield from self._translate_delta(delta)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            if finish == _ERROR_FINISH and not self.has_content:
                raise parse_error(choice.get("error"))
            yield from self._end(finish)
        usage = chunk.get("usage") or choice.get("usage")
        if isinstance(usage, dict):
            reported = parse_chat_usage(usage)
            self.has_usage = self.has_usage or reported != Usage()
            yield UsageReported(reported, as_text(chunk.get("model")))

    def _end(self, finish: str) -> Iterator[ModelEvent]:
        for kind, text in self._tags.flush():
            yield from self._emit_text(kind, text)
        yield from self._close_reasoning()
        for call in self._calls:
            yield from self._end_call(call)
        self.stop = _STOPS.get(finish.lower(), "tool_use" if self._calls else "end_turn")
        if self._is_refusal:
            self.stop = "refusal"

    # Text and reasoning.

    def _translate_delta(self, delta: Object) -> Iterator[ModelEvent]:
        content = delta.get("content")
        if isinstance(content, str):
            for kind, text in self._tags.split(content) if content else ():
                yield from self._emit_text(kind, text)
        else:
            for part in as_objects(content):  # some endpoints send a list of parts
                if part.get("type") == "thinking":
                    inner = as_objects(part.get("thinking"))
                    thought = "".join(as_text(each.get("text")) for each in inner)
                    yield from self._emit_text("thinking", thought)
                elif text := as_text(part.get("text")):
                    yield from self._emit_text("text", text)
        if len(delta) == 1 and content is not None:
            return
        self._details += as_objects(delta.get("reasoning_details"))
        name = next((each for each in REASONING_FIELDS if delta.get(each)), None)
        if name is not None and (text := as_text(delta.get(name))):
            is_new = self._reasoning_field is None
            self._reasoning_field = name
            self.has_content = True
            self.character_count += len(text)
            yield ThinkingDelta(text, is_new=is_new)
        refusal = as_text(delta.get("refusal"))
        if refusal:
            self._is_refusal = True
            yield from self._emit_text("text", refusal)
        for wire in as_objects(delta.get("tool_calls")):
            yield from self._tool_call(wire)

    def _emit_text(self, kind: str, text: str) -> Iterator[ModelEvent]:
        self.has_content = True
        self.character_count += len(text)
        if kind == "thinking":
            yield ThinkingDelta(text)
            return
        if self._reasoning_field is not None:
            yield from self._close_reasoning()
        yield TextDelta(text)

    def _close_reasoning(self) -> Iterator[ModelEvent]:
        """Sign the reasoning that has ended, so that it can be sent back to the same model."""
        name, self._reasoning_field = self._reasoning_field, None
        details, self._details = self._details, []
        if name is not None:
            content: dict[str, JsonValue] = {"field": name}
            if details:
                content["details"] = [*_merge_details(details)]
            yield ThinkingSigned(self._signature.with_content(**content).serialize())

    # Calls.

    def _tool_call(self, wire: Object) -> Iterator[ModelEvent]:
        function = as_object(wire.get("function"))
        wire_id, name = as_text(wire.get("id")), as_text(function.get("name"))
        call = self._find_call(wire.get("index"), wire_id, name)
        if call is None:
            yield from self._close_reasoning()
            for previous in self._calls:
                yield from self._end_call(previous)
            call = _PartialCall(wire_id, wire.get("index"))
            self._calls.append(call)
        call.extra_content = call.extra_content or wire.get("extra_content")
        if name and not call.name:
            call.name = name
            self.has_content = True
            call.id = self._new_call_id(call.wire_id)
            if call.extra_content:
                signature = self._signature.with_content(
                    call_id=call.id, extra_content=call.extra_content
                )
                yield ThinkingRedacted(signature.serialize())
            yield ToolCallStarted(call.id, call.name)
            for fragment in call.arguments:
                yield ToolCallDelta(call.id, fragment)
        arguments = function.get("arguments")
        if isinstance(arguments, dict):  # some endpoints send a complete object instead of text
            arguments = json.dumps(arguments, ensure_ascii=False)
        if isinstance(arguments, str) and arguments:
            self.character_count += len(arguments)
            call.arguments.append(arguments)
            if call.name:
                yield ToolCallDelta(call.id, arguments)

    def _find_call(self, index: JsonValue, wire_id: str, name: str) -> _PartialCall | None:
        """Return the call that a fragment belongs to; None if it starts a new call."""
        if index is None:
            last = self._calls[-1] if self._calls else None
            is_other = last is not None and (
                (wire_id and wire_id != last.wire_id) or (not wire_id and name and last.name)
            )
            return None if is_other else last
        same = next((call for call in reversed(self._calls) if call.index == index), None)
        if same is None or (wire_id and same.wire_id and wire_id != same.wire_id):
            return None
        # Some endpoints give every call the same index and no id: a name after complete arguments
        # then starts the next call. Otherwise both calls would be merged into one.
        is_next = not wire_id and name and same.name and same.has_complete_arguments
        return None if is_next else same

    def _end_call(self, call: _PartialCall) -> Iterator[ModelEvent]:
        if call.name and not call.has_ended:
            call.has_ended = True
            yield ToolCallCompleted(call.id)


def _merge_details(details: list[Object]) -> Iterator[Object]:
    """Merge the streamed fragments of reasoning details."""
    merged: dict[tuple[str, str], Object] = {}
    for detail in details:
        key = (str(detail.get("index")), as_text(detail.get("type")))
        known = merged.setdefault(key, {})
        for name, value in detail.items():
            is_piece = name in {"text", "summary", "data"} and isinstance(value, str)
            known[name] = as_text(known.get(name)) + cast("str", value) if is_piece else value
    yield from merged.values()
