"""Translates the events of one streamed response (Responses API) into model events.

Source: https://developers.openai.com/api/reference/resources/responses/streaming-events
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from acp_server.models.openai_compatible.answer_stream import DONE, AnswerStream
from acp_server.models.openai_compatible.wire import parse_error, parse_event, parse_responses_usage
from acp_server.models.reasoning_signature import ReasoningSignature
from acp_server.text.json_values import Object, as_object, as_objects, as_text
from acp_server.turn.events import Usage
from acp_server.turn.ports import (
    ModelEvent,
    TextDelta,
    ThinkingDelta,
    ThinkingSigned,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
    UsageReported,
)

_PARAGRAPH = "\n\n"


@dataclass(slots=True)
class _FunctionCall:
    """A function call while it is streamed."""

    id: str
    has_arguments: bool = False
    """Whether any arguments have arrived."""
    has_ended: bool = False


class ResponsesStream(AnswerStream):
    """An answer of the Responses API."""

    def __init__(self, signature: ReasoningSignature, new_call_id: Callable[[str], str]) -> None:
        super().__init__(signature, new_call_id)
        self._calls: dict[str, _FunctionCall] = {}
        self._shown_reasoning_ids: set[str] = set()
        """Ids of the reasoning items with text shown so far."""
        self._shown_message_ids: set[str] = set()
        """Ids of the message items with text shown so far."""

    def translate(self, data: str) -> Iterator[ModelEvent]:
        """Translate the data of an event.

        Raises:
            MalformedOpenAiEventError: The data is not an event of the Responses API.
            OpenAiStreamError: The event reports an error of the endpoint.
        """
        self.has_started = True
        if data.strip() == DONE:
            self.is_closed = True
            return
        yield from self._translate_event(parse_event(data))

    def translate_complete(self, body: Object) -> Iterator[ModelEvent]:
        """Translate a complete response that an endpoint sent instead of the requested stream.

        Raises:
            OpenAiStreamError: The response reports an error of the endpoint.
        """
        self.has_started = True
        if body.get("error"):
            raise parse_error(body["error"])
        for item in as_objects(body.get("output")):
            yield from self._item_added(item)
            yield from self._item_done(item)
        yield from self._end(body)

    def _translate_event(self, event: Object) -> Iterator[ModelEvent]:
        match event.get("type"):
            case "response.output_text.delta" | "response.refusal.delta":
                self._is_refusal = self._is_refusal or event["type"] == "response.refusal.delta"
                yield from self._text(_item_id(event), as_text(event.get("delta")))
            case "response.function_call_arguments.delta":
                yield from self._arguments(_item_id(event), as_text(event.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                yield from self._thought(_item_id(event), as_text(event.get("delta")))
            case "response.output_item.added":
                yield from self._item_added(as_object(event.get("item")))
            case "response.output_item.done":
                yield from self._item_done(as_object(event.get("item")))
            case "response.reasoning_summary_part.added" if (
                _item_id(event) in self._shown_reasoning_ids
            ):
                yield ThinkingDelta(_PARAGRAPH)
            case "response.completed" | "response.incomplete":
                yield from self._end(as_object(event.get("response")))
            case "response.failed":
                raise parse_error(as_object(event.get("response")).get("error"))
            case "error":
                raise parse_error(event.get("error") or event)
            case _:  # start or end of a part, or an event of a later API version
                pass

    def _text(self, key: str, text: str) -> Iterator[ModelEvent]:
        if text:
            self.has_content = True
            self.character_count += len(text)
            is_new = key not in self._shown_message_ids
            self._shown_message_ids.add(key)
            yield TextDelta(text, is_new=is_new)

    def _thought(self, key: str, text: str) -> Iterator[ModelEvent]:
        if text:
            self.has_content = True
            self.character_count += len(text)
            self._shown_reasoning_ids.add(key)
            yield ThinkingDelta(text)

    def _arguments(self, key: str, fragment: str) -> Iterator[ModelEvent]:
        call = self._calls.get(key)
        if call is not None and fragment:
            call.has_arguments = True
            self.character_count += len(fragment)
            yield ToolCallDelta(call.id, fragment)

    def _item_added(self, item: Object) -> Iterator[ModelEvent]:
        match item.get("type"):
            case "function_call":
                self.has_content = True
                call = _FunctionCall(self._new_call_id(as_text(item.get("call_id"))))
                self._calls[as_text(item.get("id")) or as_text(item.get("call_id"))] = call
                yield ToolCallStarted(call.id, as_text(item.get("name")))
            case "reasoning":
                yield ThinkingDelta("", is_new=True)
            case _:
                pass

    def _item_done(self, item: Object) -> Iterator[ModelEvent]:
        item_id = as_text(item.get("id"))
        match item.get("type"):
            case "function_call":
                key = item_id or as_text(item.get("call_id"))
                if key not in self._calls:  # some endpoints omit `output_item.added`
                    yield from self._item_added(item)
                call = self._calls[key]
                if not call.has_arguments:  # no deltas: the arguments are only in this event
                    yield from self._arguments(key, as_text(item.get("arguments")))
                if not call.has_ended:
                    call.has_ended = True
                    yield ToolCallCompleted(call.id)
            case "reasoning":
                if item_id not in self._shown_reasoning_ids:
                    texts = (as_text(part.get("text")) for part in as_objects(item.get("summary")))
                    yield from self._thought(item_id, _PARAGRAPH.join(texts))
                encrypted = item.get("encrypted_content")
                if encrypted:
                    content: dict[str, JsonValue] = {
                        "id": item.get("id"),
                        "summary": item.get("summary") or [],
                        "encrypted_content": encrypted,
                    }
                    self.has_content = True
                    yield ThinkingSigned(self._signature.with_content(**content).serialize())
            case "message" if item_id not in self._shown_message_ids:
                parts = as_objects(item.get("content"))
                texts = (
                    as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts
                )
                yield from self._text(item_id, "".join(texts))
            case _:
                pass

    def _end(self, response: Object) -> Iterator[ModelEvent]:
        self.is_closed = True
        usage = response.get("usage")
        if isinstance(usage, dict):
            reported = parse_responses_usage(usage)
            self.has_usage = reported != Usage()
            yield UsageReported(reported, as_text(response.get("model")))
        reason = as_text(as_object(response.get("incomplete_details")).get("reason"))
        if self._is_refusal:
            self.stop = "refusal"
        elif reason == "content_filter":
            self.stop = "content_filter"
        elif reason or response.get("status") == "incomplete":
            self.stop = "max_tokens"
        else:
            self.stop = "tool_use" if self._calls else "end_turn"


def _item_id(event: Object) -> str:
    return as_text(event.get("item_id"))
