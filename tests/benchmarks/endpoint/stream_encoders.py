"""Encoders that turn an answer into stream events, one for each API format.

An encoder yields steps: bytes to send, and pauses. Knows no commands and no agents.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count

from pydantic import JsonValue

from tests.benchmarks.endpoint.answers import BenchmarkAnswer
from tests.benchmarks.endpoint.model_requests import ApiFormat
from tests.benchmarks.endpoint.tool_dialects import DialectCall

BYTES_PER_TOKEN = 4
StreamStep = bytes | float
"""Bytes to send, or seconds to wait."""

_numbers = count(1)


def encode_stream(
    form: ApiFormat, answer: BenchmarkAnswer, model: str, size: int
) -> Iterator[StreamStep]:
    """Yield the stream for an answer to a request of `size` bytes."""
    yield from ENCODERS[form](answer, model, size // BYTES_PER_TOKEN)


def _split_arguments(use: DialectCall, count: int) -> Iterator[str]:
    width = -(-len(use.arguments) // count)
    for start in range(0, len(use.arguments), width):
        yield use.arguments[start : start + width]


def _event(kind: str, **fields: JsonValue) -> bytes:
    data = json.dumps({"type": kind, **fields}, separators=(",", ":"))
    return f"event: {kind}\ndata: {data}\n\n".encode()


def _messages(answer: BenchmarkAnswer, model: str, tokens: int) -> Iterator[StreamStep]:
    usage: JsonValue = {
        "input_tokens": tokens,
        "output_tokens": 1,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": 0,
    }
    message: JsonValue = {
        "id": f"msg_{next(_numbers)}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield _event("message_start", message=message)
    indexes = count()
    if answer.text:
        index = next(indexes)
        yield _event("content_block_start", index=index, content_block={"type": "text", "text": ""})
        for piece in answer.text:
            yield answer.pause_seconds
            yield _event(
                "content_block_delta", index=index, delta={"type": "text_delta", "text": piece}
            )
        yield _event("content_block_stop", index=index)
    for use in answer.tool_uses:
        yield from _messages_use(answer, use, next(indexes))
    stop: JsonValue = {
        "stop_reason": "tool_use" if answer.tool_uses else "end_turn",
        "stop_sequence": None,
    }
    yield _event("message_delta", delta=stop, usage={"output_tokens": 1 + len(answer.text)})
    yield _event("message_stop")


def _messages_use(answer: BenchmarkAnswer, use: DialectCall, index: int) -> Iterator[StreamStep]:
    block: JsonValue = {
        "type": "tool_use",
        "id": f"toolu_{next(_numbers)}",
        "name": use.name,
        "input": {},
    }
    yield _event("content_block_start", index=index, content_block=block)
    for piece in _split_arguments(use, answer.argument_piece_count):
        yield answer.pause_seconds
        delta: JsonValue = {"type": "input_json_delta", "partial_json": piece}
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _chat(answer: BenchmarkAnswer, model: str, tokens: int) -> Iterator[StreamStep]:
    number = next(_numbers)

    def chunk(delta: JsonValue, finish: str | None = None, **more: JsonValue) -> bytes:
        choices: JsonValue = [{"index": 0, "delta": delta, "finish_reason": finish}]
        body: JsonValue = {
            "id": f"chatcmpl-{number}",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": model,
            "choices": choices,
            **more,
        }
        return f"data: {json.dumps(body, separators=(',', ':'))}\n\n".encode()

    yield chunk({"role": "assistant", "content": ""})
    for piece in answer.text:
        yield answer.pause_seconds
        yield chunk({"content": piece})
    for index, use in enumerate(answer.tool_uses):
        head: JsonValue = {"name": use.name, "arguments": ""}
        opened: JsonValue = {"id": f"call_{next(_numbers)}", "type": "function", "function": head}
        yield chunk({"tool_calls": [{"index": index, **opened}]})
        for piece in _split_arguments(use, answer.argument_piece_count):
            yield answer.pause_seconds
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    usage: JsonValue = {
        "prompt_tokens": tokens,
        "completion_tokens": 1,
        "total_tokens": tokens + 1,
    }
    yield chunk({}, "tool_calls" if answer.tool_uses else "stop", usage=usage)
    yield b"data: [DONE]\n\n"


def _responses(answer: BenchmarkAnswer, model: str, tokens: int) -> Iterator[StreamStep]:
    number = f"resp_{next(_numbers)}"
    yield _event("response.created", response={"id": number, "model": model, "status": "queued"})
    output: list[JsonValue] = []
    if answer.text:
        yield from _responses_text(answer, output)
    for use in answer.tool_uses:
        yield from _responses_use(answer, use, output)
    usage: JsonValue = {
        "input_tokens": tokens,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens + 1,
    }
    response: JsonValue = {
        "id": number,
        "object": "response",
        "model": model,
        "status": "completed",
        "output": output,
        "usage": usage,
    }
    yield _event("response.completed", response=response)


def _responses_text(answer: BenchmarkAnswer, output: list[JsonValue]) -> Iterator[StreamStep]:
    name = f"msg_{next(_numbers)}"
    item: dict[str, JsonValue] = {"type": "message", "id": name, "role": "assistant"}
    added: JsonValue = {**item, "status": "in_progress", "content": []}
    yield _event("response.output_item.added", output_index=len(output), item=added)
    position: dict[str, JsonValue] = {
        "output_index": len(output),
        "content_index": 0,
        "item_id": name,
    }
    for piece in answer.text:
        yield answer.pause_seconds
        yield _event("response.output_text.delta", delta=piece, **position)
    text: JsonValue = {"type": "output_text", "text": "".join(answer.text), "annotations": []}
    item |= {"status": "completed", "content": [text]}
    yield _event("response.output_item.done", output_index=len(output), item=item)
    output.append(item)


def _responses_use(
    answer: BenchmarkAnswer, use: DialectCall, output: list[JsonValue]
) -> Iterator[StreamStep]:
    number = next(_numbers)
    kind, field = (
        ("custom_tool_call", "input") if use.is_freeform else ("function_call", "arguments")
    )
    item: dict[str, JsonValue] = {
        "type": kind,
        "id": f"fc_{number}",
        "call_id": f"call_{number}",
        "name": use.name,
        field: "",
    }
    yield _event("response.output_item.added", output_index=len(output), item={**item})
    for piece in _split_arguments(use, answer.argument_piece_count):
        yield answer.pause_seconds
        yield _event(
            f"response.{kind}_{field}.delta",
            output_index=len(output),
            item_id=item["id"],
            delta=piece,
        )
    item |= {field: use.arguments, "status": "completed"}
    yield _event("response.output_item.done", output_index=len(output), item=item)
    output.append(item)


def _gemini(answer: BenchmarkAnswer, model: str, tokens: int) -> Iterator[StreamStep]:
    def chunk(parts: JsonValue, **more: JsonValue) -> bytes:
        content: JsonValue = {"role": "model", "parts": parts}
        body: JsonValue = {
            "candidates": [{"index": 0, "content": content, **more}],
            "modelVersion": model,
            "usageMetadata": {"promptTokenCount": tokens, "totalTokenCount": tokens + 1},
        }
        return f"data: {json.dumps(body, separators=(',', ':'))}\r\n\r\n".encode()

    for piece in answer.text:
        yield answer.pause_seconds
        yield chunk([{"text": piece}])
    for use in answer.tool_uses:  # this API sends a call in one piece, once it is complete
        yield answer.pause_seconds * answer.argument_piece_count
        call: JsonValue = {"name": use.name, "args": json.loads(use.arguments)}
        yield chunk([{"functionCall": call}])
    yield chunk([{"text": ""}], finishReason="STOP")


ENCODERS: Mapping[ApiFormat, Callable[[BenchmarkAnswer, str, int], Iterator[StreamStep]]] = {
    "messages": _messages,
    "chat": _chat,
    "responses": _responses,
    "gemini": _gemini,
}
