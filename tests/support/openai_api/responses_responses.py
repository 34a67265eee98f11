"""Builds the events of a Responses API answer from a scripted reply."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

from pydantic import JsonValue

from tests.support.messages_api.content_blocks import IdSequence
from tests.support.messages_api.faults import sse_event
from tests.support.messages_api.response_steps import ResponseStep, Wait
from tests.support.messages_api.script import CallTool, ReplyBlock, Say, ScriptedReply, Think
from tests.support.openai_api.chat_responses import ReportedUsage
from tests.support.openai_api.endpoint import OpenAiServerConfig
from tests.support.openai_api.refusals import Object
from tests.support.openai_api.responses_rules import ResponsesRules


@dataclass(slots=True)
class ResponsesResponseBuilder:
    """Builder of Responses API answers, streamed or in one piece."""

    endpoint: OpenAiServerConfig
    rules: ResponsesRules
    usage: ReportedUsage
    identifiers: IdSequence = field(default_factory=IdSequence)

    def stream_steps(
        self, reply: ScriptedReply, model: str, *, is_encrypted: bool
    ) -> list[ResponseStep]:
        """Return the steps that stream an answer.

        Reasoning items carry `encrypted_content` only if `is_encrypted`.
        """
        response: Object = {
            "id": self.identifiers.next("resp"),
            "object": "response",
            "model": model,
            "output": [],
            "status": "in_progress",
            "usage": None,
        }
        events: list[Object] = [
            {"type": "response.created", "response": response},
            {"type": "response.in_progress", "response": response},
        ]
        output: list[JsonValue] = []
        for index, block in enumerate(reply.blocks):
            item = self._output_item(block, model, is_encrypted=is_encrypted)
            output.append(item)
            events += _item_events(index, item, block, reply)
        events.append(self._final_event({**response, "output": output}, reply))
        steps: list[ResponseStep] = []
        for number, each in enumerate(events):
            if reply.pause_seconds:
                steps.append(Wait(reply.pause_seconds))
            steps.append(sse_event(str(each["type"]), {**each, "sequence_number": number}))
        return steps

    def complete_response(self, reply: ScriptedReply, model: str) -> Object:
        """Return an answer as one JSON object."""
        output = [self._output_item(block, model, is_encrypted=True) for block in reply.blocks]
        end = self._final_event({"id": "x", "model": model, "output": [*output]}, reply)
        response = end["response"]
        assert isinstance(response, dict)
        return response

    def _final_event(self, response: Object, reply: ScriptedReply) -> Object:
        is_cut = reply.stop_reason in {"max_tokens", "content_filter"}
        is_filtered = reply.stop_reason == "content_filter"
        reason = "content_filter" if is_filtered else "max_output_tokens"
        status = "incomplete" if is_cut else "completed"
        output = self.usage.output(reply)
        usage: JsonValue = {
            "input_tokens": self.usage.prompt,
            "input_tokens_details": {"cached_tokens": self.usage.cached},
            "output_tokens": output,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": self.usage.prompt + output,
        }
        nothing: Object = {"never": None, "zero": {"input_tokens": 0, "output_tokens": 0}}
        ended: Object = {
            **response,
            "status": status,
            "incomplete_details": {"reason": reason} if is_cut else None,
            "usage": nothing.get(self.endpoint.usage, usage),
        }
        return {"type": f"response.{status}", "response": ended}

    def _output_item(self, block: ReplyBlock, model: str, *, is_encrypted: bool) -> Object:
        match block:
            case Say(text):
                part: Object = {"type": "output_text", "text": text, "annotations": []}
                return {
                    "type": "message",
                    "id": self.identifiers.next("msg"),
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            case CallTool():
                written = (
                    json.dumps(dict(block.input))
                    if block.raw_arguments is None
                    else block.raw_arguments
                )
                return {
                    "type": "function_call",
                    "id": self.identifiers.next("fc"),
                    "call_id": self.identifiers.next("call") if block.id is None else block.id,
                    "name": block.name,
                    "arguments": written,
                    "status": "completed",
                }
            case Think(text):
                return self._reasoning_item(text, model, is_encrypted=is_encrypted)
            case _:
                return self._reasoning_item("", model, is_encrypted=is_encrypted)

    def _reasoning_item(self, text: str, model: str, *, is_encrypted: bool) -> Object:
        item_id = self.identifiers.next("rs")
        summary: list[JsonValue] = [{"type": "summary_text", "text": text}] if text else []
        item: Object = {"type": "reasoning", "id": item_id, "summary": summary}
        if is_encrypted:
            encrypted = base64.b64encode(f"{item_id} {text}".encode()).decode()
            self.rules.encrypted_reasoning[encrypted] = (item_id, model)
            item["encrypted_content"] = encrypted
        return item


def _item_events(
    index: int, item: Object, block: ReplyBlock, reply: ScriptedReply
) -> Iterator[Object]:
    size = reply.chunk_characters
    opened: Object = {**item}
    item_ref: Object = {"output_index": index, "item_id": item["id"]}
    match block:
        case Say(text):
            opened["content"] = []
            kind = "refusal" if reply.stop_reason == "refusal" else "output_text"
            deltas = _deltas(f"response.{kind}", item_ref, text, size)
        case CallTool():
            opened["arguments"] = ""
            written = str(item["arguments"])
            deltas = _deltas("response.function_call_arguments", item_ref, written, size)
        case Think(text):
            opened["summary"] = []
            added: Object = {"type": "response.reasoning_summary_part.added", **item_ref}
            deltas = [added, *_deltas("response.reasoning_summary_text", item_ref, text, size)]
        case _:
            deltas = []
    yield {"type": "response.output_item.added", "output_index": index, "item": opened}
    yield from deltas
    yield {"type": "response.output_item.done", "output_index": index, "item": item}


def _deltas(kind: str, item_ref: Object, text: str, size: int) -> list[Object]:
    parts = (text[start : start + size] for start in range(0, len(text), size))
    written: list[Object] = [{"type": f"{kind}.delta", **item_ref, "delta": part} for part in parts]
    return [*written, {"type": f"{kind}.done", **item_ref}]
