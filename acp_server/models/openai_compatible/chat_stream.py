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

from acp_server.models.openai_compatible.think_tags import ThinkTags
from acp_server.models.openai_compatible.wire import (
    Object,
    chat_usage,
    error_of,
    event_of,
    object_of,
    objects_of,
    text_in,
)
from acp_server.models.reasoning_signature import Seal
from acp_server.turn.events import Usage
from acp_server.turn.ports import (
    CallArguments,
    CallEnded,
    CallStarted,
    ModelEvent,
    ModelStop,
    TextDelta,
    ThinkingDelta,
    ThinkingRedacted,
    ThinkingSigned,
    UsageReported,
)

DONE = "[DONE]"
REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
_STOPS: dict[str, ModelStop] = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refusal",
    "refusal": "refusal",
    "safety": "refusal",
}
_GIVEN_UP = "error"


@dataclass(slots=True)
class _Call:
    """A tool call while it is streamed.

    `wire_id` is the endpoint's id, possibly empty; `id` is unique in the conversation.
    """

    wire_id: str
    index: JsonValue
    id: str = ""
    name: str = ""
    waiting: list[str] = field(default_factory=list[str])
    """Arguments that arrived before the name."""
    written: list[str] = field(default_factory=list[str])
    extra: JsonValue = None
    has_ended: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether the arguments received so far are complete JSON."""
        try:
            json.loads("".join(self.written))
        except (ValueError, RecursionError):
            return False
        return True


class ChatStream:
    """State of one answer being streamed; translates chunks and tracks how the answer ends."""

    def __init__(self, seal: Seal, new_call_id: Callable[[str], str]) -> None:
        """Start an answer; `new_call_id` maps a wire id to one unique in the conversation."""
        self.stop: ModelStop | None = None
        """The stop reason; None until it has arrived."""
        self.is_over = False
        """Whether the answer is complete."""
        self.has_begun = False
        """Whether any chunk has arrived."""
        self.has_content = False
        """Whether any content was passed on; the user may have seen it."""
        self.has_usage = False
        """Whether the endpoint has reported token usage."""
        self.characters = 0
        """Characters received, to estimate the usage if the endpoint does not report it."""
        self._seal = seal
        self._new_call_id = new_call_id
        self._tags = ThinkTags()
        self._calls: list[_Call] = []
        self._reasoning_field: str | None = None
        """The field of the reasoning that is being streamed; None outside of reasoning."""
        self._details: list[Object] = []
        self._has_refused = False

    def translate(self, data: str) -> Iterable[ModelEvent]:
        """Translate the data of an event.

        Raises:
            MalformedOpenAiEventError: The data is not a chunk of a chat completion.
            OpenAiStreamError: The chunk reports an error of the endpoint.
        """
        self.has_begun = True
        if data.startswith("[") and data.strip() == DONE:
            return self._done()
        chunk = event_of(data)
        plain = self._plain_text(chunk)
        return (plain,) if plain is not None else self._chunk(chunk)

    def _done(self) -> Iterator[ModelEvent]:
        self.is_over = True
        if self.stop is None and self.has_content:  # some endpoints never send a finish_reason
            yield from self._end("stop")

    def _plain_text(self, chunk: Object) -> TextDelta | None:
        """Translate a text-only chunk; None for any other. Fast path: most chunks are text only."""
        if not self._tags.is_plain or self._reasoning_field is not None or chunk.get("usage"):
            return None
        match chunk.get("choices"):
            case [{"delta": {"content": str(text), **more}, **choice}] if text and not more:
                if choice.get("finish_reason") is not None or chunk.get("error"):
                    return None
                self.characters += len(text)
                return TextDelta(text)
            case _:
                return None

    def translate_whole(self, body: Object) -> Iterator[ModelEvent]:
        """Translate a complete completion that an endpoint sent instead of the requested stream.

        Raises:
            OpenAiStreamError: The completion reports an error of the endpoint.
        """
        self.has_begun = True
        yield from self._chunk(body)
        self.is_over = True

    def _chunk(self, chunk: Object) -> Iterator[ModelEvent]:
        if chunk.get("error"):
            raise error_of(chunk["error"])
        choices = objects_of(chunk.get("choices"))
        choice = choices[0] if choices else {}
        delta = object_of(choice.get("delta") or choice.get("message"))
        if delta:
            yield from self._delta(delta)
        finish = choice.get("finish_reason")
        if isinstance(finish, str) and finish:
            yield from self._finish(finish, choice)
        usage = chunk.get("usage") or choice.get("usage")
        if isinstance(usage, dict):
            told = chat_usage(usage)
            self.has_usage = self.has_usage or told != Usage()
            yield UsageReported(told)

    def _finish(self, finish: str, choice: Object) -> Iterator[ModelEvent]:
        if finish == _GIVEN_UP and not self.has_content:
            raise error_of(choice.get("error"))
        yield from self._end(finish)

    def _end(self, finish: str) -> Iterator[ModelEvent]:
        for kind, text in self._tags.rest():
            yield from self._spoken(kind, text)
        yield from self._close_reasoning()
        for call in self._calls:
            yield from self._end_call(call)
        self.stop = _STOPS.get(finish.lower(), "tool_use" if self._calls else "end_turn")
        if self._has_refused:
            self.stop = "refusal"

    # Text and reasoning.

    def _delta(self, delta: Object) -> Iterator[ModelEvent]:
        content = delta.get("content")
        if isinstance(content, str):
            if content:
                yield from self._text(content)
        elif content:
            yield from self._content_list(content)
        if len(delta) == 1 and content is not None:
            return
        yield from self._reasoning(delta)
        refusal = text_in(delta, "refusal")
        if refusal:
            self._has_refused = True
            yield from self._spoken("text", refusal)
        for wire in objects_of(delta.get("tool_calls")):
            yield from self._tool_call(wire)

    def _text(self, text: str) -> Iterator[ModelEvent]:
        if self._tags.is_plain:
            yield from self._spoken("text", text)
            return
        for kind, piece in self._tags.split(text):
            yield from self._spoken(kind, piece)

    def _content_list(self, content: JsonValue) -> Iterator[ModelEvent]:
        """Translate content that is a list of parts instead of a string."""
        for part in objects_of(content):
            if part.get("type") == "thinking":
                inner = objects_of(part.get("thinking"))
                thought = "".join(text_in(each, "text") for each in inner)
                yield from self._spoken("thinking", thought)
            elif text := text_in(part, "text"):
                yield from self._spoken("text", text)

    def _spoken(self, kind: str, text: str) -> Iterator[ModelEvent]:
        self.has_content = True
        self.characters += len(text)
        if kind == "thinking":
            yield ThinkingDelta(text)
            return
        if self._reasoning_field is not None:
            yield from self._close_reasoning()
        yield TextDelta(text)

    def _reasoning(self, delta: Object) -> Iterator[ModelEvent]:
        self._details += objects_of(delta.get("reasoning_details"))
        name = next((each for each in REASONING_FIELDS if delta.get(each)), None)
        if name is not None and (text := text_in(delta, name)):
            is_new = self._reasoning_field is None
            self._reasoning_field = name
            self.has_content = True
            self.characters += len(text)
            yield ThinkingDelta(text, is_new=is_new)

    def _close_reasoning(self) -> Iterator[ModelEvent]:
        """Sign the reasoning that has ended, so that it can be sent back to the same model."""
        name, self._reasoning_field = self._reasoning_field, None
        details, self._details = self._details, []
        if name is not None:
            content: dict[str, JsonValue] = {"field": name}
            if details:
                content["details"] = [*_joined(details)]
            yield ThinkingSigned(self._seal.with_content(**content).written())

    # Calls.

    def _tool_call(self, wire: Object) -> Iterator[ModelEvent]:
        function = object_of(wire.get("function"))
        wire_id, name = text_in(wire, "id"), text_in(function, "name")
        call = self._current(wire.get("index"), wire_id, name)
        if call is None:
            yield from self._close_reasoning()
            for former in self._calls:
                yield from self._end_call(former)
            call = _Call(wire_id, wire.get("index"))
            self._calls.append(call)
        call.extra = call.extra or wire.get("extra_content")
        if name and not call.name:
            call.name = name
            yield from self._start(call)
        arguments = _fragment(function.get("arguments"))
        if arguments:
            self.characters += len(arguments)
            call.written.append(arguments)
            if call.name:
                yield CallArguments(call.id, arguments)
            else:
                call.waiting.append(arguments)

    def _current(self, index: JsonValue, wire_id: str, name: str) -> _Call | None:
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
        is_next = not wire_id and name and same.name and same.is_whole
        return None if is_next else same

    def _start(self, call: _Call) -> Iterator[ModelEvent]:
        self.has_content = True
        call.id = self._new_call_id(call.wire_id)
        if call.extra:
            content: dict[str, JsonValue] = {"call_id": call.id, "extra_content": call.extra}
            yield ThinkingRedacted(self._seal.with_content(**content).written())
        yield CallStarted(call.id, call.name)
        for fragment in call.waiting:
            yield CallArguments(call.id, fragment)

    def _end_call(self, call: _Call) -> Iterator[ModelEvent]:
        if call.name and not call.has_ended:
            call.has_ended = True
            yield CallEnded(call.id)


def _fragment(arguments: JsonValue) -> str:
    """Return a fragment of arguments as JSON text; some endpoints send a complete object."""
    if isinstance(arguments, str):
        return arguments
    return json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, dict) else ""


def _joined(details: list[Object]) -> Iterator[Object]:
    """Merge the streamed fragments of reasoning details."""
    whole: dict[tuple[str, str], Object] = {}
    for detail in details:
        key = (str(detail.get("index")), text_in(detail, "type"))
        known = whole.setdefault(key, {})
        for name, value in detail.items():
            is_piece = name in {"text", "summary", "data"} and isinstance(value, str)
            known[name] = text_in(known, name) + cast("str", value) if is_piece else value
    yield from whole.values()
