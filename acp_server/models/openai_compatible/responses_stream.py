"""Translates the events of one streamed response (Responses API) into model events.

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from acp_server.models.openai_compatible.wire import (
    Object,
    error_of,
    event_of,
    object_of,
    objects_of,
    responses_usage,
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
    ThinkingSigned,
    UsageReported,
)

DONE = "[DONE]"
_PARAGRAPH = "\n\n"


@dataclass(slots=True)
class _Call:
    """A function call while it is streamed."""

    id: str
    is_written: bool = False
    """Whether any arguments have arrived."""
    has_ended: bool = False


class ResponsesStream:
    """State of one answer being streamed; translates events and tracks how the answer ends."""

    def __init__(self, seal: Seal, new_call_id: Callable[[str], str]) -> None:
        """Start an answer; `new_call_id` maps a wire id to one unique in the conversation."""
        self.stop: ModelStop | None = None
        """The stop reason; None until it has arrived."""
        self.is_over = False
        """Whether the answer is complete."""
        self.has_begun = False
        """Whether any event has arrived."""
        self.has_content = False
        """Whether any content was passed on; the user may have seen it."""
        self.has_usage = False
        """Whether the endpoint has reported token usage."""
        self.characters = 0
        """Characters received, to estimate the usage if the endpoint does not report it."""
        self._seal = seal
        self._new_call_id = new_call_id
        self._calls: dict[str, _Call] = {}
        self._thoughts: set[str] = set()
        """Ids of the reasoning items with text shown so far."""
        self._spoken: set[str] = set()
        """Ids of the message items with text shown so far."""
        self._has_refused = False

    def translate(self, data: str) -> Iterator[ModelEvent]:
        """Translate the data of an event.

        Raises:
            MalformedOpenAiEventError: The data is not an event of the Responses API.
            OpenAiStreamError: The event reports an error of the endpoint.
        """
        self.has_begun = True
        if data.strip() == DONE:  # not part of the Responses API, but some endpoints send it
            self.is_over = True
            return
        yield from self._meaning(event_of(data))

    def translate_whole(self, body: Object) -> Iterator[ModelEvent]:
        """Translate a complete response that an endpoint sent instead of the requested stream.

        Raises:
            OpenAiStreamError: The response reports an error of the endpoint.
        """
        self.has_begun = True
        if body.get("error"):
            raise error_of(body["error"])
        for item in objects_of(body.get("output")):
            yield from self._item_added(item)
            yield from self._item_done(item)
        yield from self._end(body)

    def _meaning(self, event: Object) -> Iterator[ModelEvent]:
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                self._has_refused = self._has_refused or event["type"] == "response.refusal.delta"
                yield from self._text(_key(event), text_in(event, "delta"))
            case "response.function_call_arguments.delta":
                yield from self._arguments(_key(event), text_in(event, "delta"))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._thought(_key(event), text_in(event, "delta"))
            case "response.output_item.added":
                yield from self._item_added(object_of(event.get("item")))
            case "response.output_item.done":
                yield from self._item_done(object_of(event.get("item")))
            case "response.reasoning_summary_part.added" if _key(event) in self._thoughts:
                yield ThinkingDelta(_PARAGRAPH)
            case "response.completed" | "response.incomplete":
                yield from self._end(object_of(event.get("response")))
            case "response.failed":
                raise error_of(object_of(event.get("response")).get("error"))
            case "error":
                raise error_of(event.get("error") or event)
            case _:  # start or end of a part, or an event of a later API version
                pass

    def _text(self, key: str, text: str) -> Iterator[ModelEvent]:
        if text:
            self.has_content = True
            self.characters += len(text)
            is_new = key not in self._spoken
            self._spoken.add(key)
            yield TextDelta(text, is_new=is_new)

    def _thought(self, key: str, text: str) -> Iterator[ModelEvent]:
        if text:
            self.has_content = True
            self.characters += len(text)
            self._thoughts.add(key)
            yield ThinkingDelta(text)

    def _arguments(self, key: str, fragment: str) -> Iterator[ModelEvent]:
        call = self._calls.get(key)
        if call is not None and fragment:
            call.is_written = True
            self.characters += len(fragment)
            yield CallArguments(call.id, fragment)

    def _item_added(self, item: Object) -> Iterator[ModelEvent]:
        match item.get("type"):
            case "function_call":
                self.has_content = True
                call = _Call(self._new_call_id(text_in(item, "call_id")))
                self._calls[text_in(item, "id") or text_in(item, "call_id")] = call
                yield CallStarted(call.id, text_in(item, "name"))
            case "reasoning":
                yield ThinkingDelta("", is_new=True)
            case _:
                pass

    def _item_done(self, item: Object) -> Iterator[ModelEvent]:
        match item.get("type"):
            case "function_call":
                yield from self._call_done(item)
            case "reasoning":
                yield from self._reasoning_done(item)
            case "message":
                yield from self._message_done(item)
            case _:
                pass

    def _call_done(self, item: Object) -> Iterator[ModelEvent]:
        key = text_in(item, "id") or text_in(item, "call_id")
        if key not in self._calls:  # some endpoints omit `output_item.added`
            yield from self._item_added(item)
        call = self._calls[key]
        if not call.is_written:  # no argument deltas: the arguments are only in this event
            yield from self._arguments(key, text_in(item, "arguments"))
        if not call.has_ended:
            call.has_ended = True
            yield CallEnded(call.id)

    def _reasoning_done(self, item: Object) -> Iterator[ModelEvent]:
        if text_in(item, "id") not in self._thoughts:
            texts = (text_in(part, "text") for part in objects_of(item.get("summary")))
            yield from self._thought(text_in(item, "id"), _PARAGRAPH.join(texts))
        encrypted = item.get("encrypted_content")
        if encrypted:
            content: dict[str, JsonValue] = {
                "id": item.get("id"),
                "summary": item.get("summary") or [],
                "encrypted_content": encrypted,
            }
            self.has_content = True
            yield ThinkingSigned(self._seal.with_content(**content).written())

    def _message_done(self, item: Object) -> Iterator[ModelEvent]:
        if text_in(item, "id") not in self._spoken:
            parts = objects_of(item.get("content"))
            texts = (text_in(part, "text") or text_in(part, "refusal") for part in parts)
            yield from self._text(text_in(item, "id"), "".join(texts))

    def _end(self, response: Object) -> Iterator[ModelEvent]:
        self.is_over = True
        usage = response.get("usage")
        if isinstance(usage, dict):
            told = responses_usage(usage)
            self.has_usage = told != Usage()
            yield UsageReported(told)
        self.stop = self._reason(response)

    def _reason(self, response: Object) -> ModelStop:
        reason = text_in(object_of(response.get("incomplete_details")), "reason")
        if reason == "content_filter" or self._has_refused:
            return "refusal"
        if reason or response.get("status") == "incomplete":
            return "max_tokens"
        return "tool_use" if self._calls else "end_turn"


def _key(event: Object) -> str:
    return text_in(event, "item_id")
