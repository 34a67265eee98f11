"""Builds the body of a Responses API request. Deterministic: same request in, same bytes out.

Nothing is stored at the endpoint: each request contains the whole conversation, with reasoning as
the encrypted items that the same model has returned.
Source: https://developers.openai.com/api/reference/resources/responses
"""

from collections.abc import Iterator
from typing import assert_never

from pydantic import JsonValue

from acp_server.models.cache_markers import Block
from acp_server.models.call_ids import sanitize_call_id
from acp_server.models.families import closest_thought_level
from acp_server.models.openai_compatible import endpoint_profile as q
from acp_server.models.openai_compatible.chat_request import RequestTarget
from acp_server.models.openai_compatible.message_parts import (
    EMPTY_TEXT,
    arguments_json,
    configured_limit,
    content_parts,
    result_text,
)
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    ProviderBlock,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from acp_server.turn.ports import ModelRequest

ENCRYPTED = "reasoning.encrypted_content"


def build_responses_body(request: ModelRequest, target: RequestTarget) -> dict[str, JsonValue]:
    """Return the complete body of the request."""
    omitted = target.rejected
    body: dict[str, JsonValue] = {
        "model": target.model_id,
        "input": [item for message in request.messages for item in _input_items(message, target)],
        "stream": True,
    }
    if request.system:
        body["instructions"] = request.system
    if q.NO_STORE not in omitted:
        body["store"] = False
    if request.tools:
        strictness: Block = {} if q.NO_STRICT in omitted else {"strict": False}
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.schema),
                **strictness,
            }
            for tool in request.tools
        ]
    limit = target.profile.max_output_tokens
    if limit is not None and q.NO_LIMIT not in omitted:
        body["max_output_tokens"] = configured_limit(request, target.family, limit)
    level = closest_thought_level(target.family, request.thought_level)
    if level is not None and target.profile.effort != "none" and q.NO_EFFORT not in omitted:
        summary: Block = {} if q.NO_REASONING_SUMMARY in omitted else {"summary": "auto"}
        body["reasoning"] = {"effort": level, **summary}
        if q.NO_ENCRYPTED_REASONING not in omitted:
            body["include"] = [ENCRYPTED]
    return body


def _input_items(message: Message, target: RequestTarget) -> Iterator[Block]:
    if isinstance(message, AssistantMessage):
        items = [item for part in message.parts if (item := _assistant_item(part, target))]
        yield from items or [_assistant_message(EMPTY_TEXT)]
        return
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for result in results:
        call_id = sanitize_call_id(result.call_id)
        yield {"type": "function_call_output", "call_id": call_id, "output": result_text(result)}
    content = content_parts(message, target.rejected, "responses")
    if content or not results:
        empty: Block = {"type": "input_text", "text": EMPTY_TEXT}
        yield {"type": "message", "role": "user", "content": [*(content or [empty])]}


def _assistant_item(part: ReplyPart, target: RequestTarget) -> Block | None:
    match part:
        case Text() | ProviderBlock():
            return _assistant_message(part.text) if part.text.strip() else None
        case Thinking():
            content = target.signature.content_if_same_model(part.signature)
            is_included = content is not None and q.NO_ENCRYPTED_REASONING not in target.rejected
            return {"type": "reasoning", **(content or {})} if is_included else None
        case RedactedThinking():
            return None
        case ToolCall():
            return {
                "type": "function_call",
                "call_id": sanitize_call_id(part.id),
                "name": part.name,
                "arguments": arguments_json(part),
            }
        case _:
            assert_never(part)


def _assistant_message(text: str) -> Block:
    return {"type": "message", "role": "assistant", "content": text}
