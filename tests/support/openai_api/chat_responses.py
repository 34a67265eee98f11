"""Builds chat completions from a scripted reply, with the deviations of the endpoint."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field

from pydantic import JsonValue

from tests.support.messages_api.content_blocks import IdSequence
from tests.support.messages_api.response_steps import ResponseStep, Wait, Write
from tests.support.messages_api.script import CallTool, Say, ScriptedReply, Think
from tests.support.openai_api.chat_rules import ChatRules
from tests.support.openai_api.endpoint import OpenAiServerConfig
from tests.support.openai_api.refusals import Object
from tests.support.token_count import count_tokens

FINISH_REASONS = {
    "end_turn": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "refusal": "stop",  # the text of the answer is a refusal
}
PROMPT_TOKENS, CACHED_TOKENS, OUTPUT_TOKENS = 100, 60, 7


@dataclass(slots=True)
class ReportedUsage:
    """Token counts that the next answer reports: constant, or those of the request."""

    is_counted: bool = False
    prompt: int = PROMPT_TOKENS
    cached: int = CACHED_TOKENS

    def output(self, reply: ScriptedReply) -> int:
        """Return the tokens of an answer."""
        if not self.is_counted:
            return OUTPUT_TOKENS
        return sum(count_tokens(str(asdict(block))) for block in reply.blocks)


def sse_data(value: JsonValue) -> Write:
    """Return a server-sent event."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Write(f"data: {text}\n\n".encode(), is_event=True)


DONE = Write(b"data: [DONE]\n\n", is_event=True)


@dataclass(slots=True)
class ChatResponseBuilder:
    """Builder of chat completions, streamed or in one piece."""

    endpoint: OpenAiServerConfig
    rules: ChatRules
    usage: ReportedUsage
    identifiers: IdSequence = field(default_factory=IdSequence)

    def stream_steps(
        self, reply: ScriptedReply, model: str, *, wants_usage: bool
    ) -> list[ResponseStep]:
        """Return the steps that stream an answer."""
        head: Object = {
            "id": self.identifiers.next("chatcmpl"),
            "object": "chat.completion.chunk",
            "created": 1,
            "model": model,
        }
        steps: list[ResponseStep] = []
        usage = self._usage(reply) if self.endpoint.usage == "always" else None
        for delta in self._deltas(reply):
            if reply.pause_seconds:
                steps.append(Wait(reply.pause_seconds))
            steps.append(sse_data(_chunk(head, delta, None, usage)))
        steps.append(sse_data(_chunk(head, {}, self._finish_reason(reply), usage)))
        if wants_usage and self.endpoint.usage in {"last", "zero"}:
            steps.append(sse_data({**head, "choices": [], "usage": self._usage(reply)}))
        return [*steps, DONE] if self.endpoint.sends_done else steps

    def complete_response(self, reply: ScriptedReply, model: str) -> Object:
        """Return an answer as one JSON object."""
        message: Object = {"role": "assistant", "content": None}
        calls: list[JsonValue] = []
        for block in reply.blocks:
            match block:
                case Say(text):
                    message["content"] = text
                case Think(text):
                    message["reasoning_content"] = text
                    self.rules.reasoning.add(text)
                case CallTool():
                    function: Object = {"name": block.name, "arguments": json.dumps(block.input)}
                    call_id = self.identifiers.next("call") if block.id is None else block.id
                    calls.append({"id": call_id, "type": "function", "function": function})
                case _:  # blocks that only the Messages API has
                    pass
        if calls:
            message["tool_calls"] = calls
        choice: Object = {
            "index": 0,
            "message": message,
            "finish_reason": self._finish_reason(reply),
        }
        return {"id": "x", "model": model, "choices": [choice], "usage": self._usage(reply)}

    def _usage(self, reply: ScriptedReply) -> Object:
        if self.endpoint.usage == "zero":
            return {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
        output = self.usage.output(reply)
        return {
            "prompt_tokens": self.usage.prompt,
            "completion_tokens": output,
            "total_tokens": self.usage.prompt + output,
            "prompt_tokens_details": {"cached_tokens": self.usage.cached},
        }

    def _finish_reason(self, reply: ScriptedReply) -> str | None:
        usual = FINISH_REASONS.get(reply.stop_reason, reply.stop_reason)
        return self.endpoint.finish_reasons.get(usual, usual)

    def _deltas(self, reply: ScriptedReply) -> Iterator[Object]:
        yield {"role": "assistant", "content": ""}
        index = 0
        for block in reply.blocks:
            match block:
                case Say(text):
                    name = "refusal" if reply.stop_reason == "refusal" else "content"
                    for part in _chunks(text, reply):
                        yield {name: part}
                case Think(text):
                    yield from self._reasoning_deltas(text, reply)
                case CallTool():
                    yield from self._call_deltas(block, index, reply)
                    index += 1
                case _:  # blocks that only the Messages API has
                    pass

    def _reasoning_deltas(self, text: str, reply: ScriptedReply) -> Iterator[Object]:
        name = self.endpoint.reasoning_field
        if name is None:
            for part in _chunks(f"<think>{text}</think>\n\n", reply):
                yield {"content": part}
            return
        self.rules.reasoning.add(text)
        for part in _chunks(text, reply):
            yield {name: part}

    def _call_deltas(self, call: CallTool, index: int, reply: ScriptedReply) -> Iterator[Object]:
        head: Object = {"index": index} if self.endpoint.sends_call_indexes else {}
        opening: Object = {**head, "type": "function"}
        if self.endpoint.sends_call_ids:
            opening["id"] = self.identifiers.next("call") if call.id is None else call.id
        if self.endpoint.signs_calls and not index:
            signature: Object = {
                "google": {"thought_signature": self.identifiers.next("signature")}
            }
            self.rules.signatures |= {
                json.dumps(signature),
                json.dumps({"google": {"thought_signature": "skip_thought_signature_validator"}}),
            }
            opening["extra_content"] = signature
        text = json.dumps(dict(call.input)) if call.raw_arguments is None else call.raw_arguments
        value: JsonValue = dict(call.input) if self.endpoint.arguments == "object" else text
        if self.endpoint.arguments != "pieces":
            yield _tool_call_delta({**opening, "function": {"name": call.name, "arguments": value}})
            return
        yield _tool_call_delta({**opening, "function": {"name": call.name, "arguments": ""}})
        for part in _chunks(text, reply):
            yield _tool_call_delta({**head, "function": {"arguments": part}})


def _tool_call_delta(wire: Object) -> Object:
    return {"tool_calls": [wire]}


def _chunk(head: Object, delta: Object, finish: str | None, usage: Object | None) -> Object:
    choice: Object = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return {**head, "choices": [choice], "usage": usage}


def _chunks(text: str, reply: ScriptedReply) -> Iterator[str]:
    size = reply.chunk_characters
    return (text[start : start + size] for start in range(0, len(text), size))
