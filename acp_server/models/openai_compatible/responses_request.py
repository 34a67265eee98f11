"""Builds the body of a Responses API request. Deterministic: same request in, same bytes out.

Nothing is stored at the endpoint: each request contains the whole conversation, with reasoning as
the encrypted items that the same model has returned.
Source: https://developers.openai.com/api/reference/resources/responses
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from pydantic import JsonValue

from acp_server.models.call_ids import sanitize_call_id
from acp_server.models.families import closest_thought_level
from acp_server.models.openai_compatible import endpoint_profile as q
from acp_server.models.openai_compatible.chat_request import RequestTarget
from acp_server.models.openai_compatible.message_parts import (
    EMPTY_TEXT,
    Block,
    MediaSupport,
    arguments_json,
    media_intro,
    result_text,
)
from acp_server.turn.conversation import (
    AssistantMessage,
    Media,
    Message,
    ProviderBlock,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
    part_to_text,
)
from acp_server.turn.ports import ModelRequest, ToolSpec

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
        body["tools"] = [_tool(tool, omitted) for tool in request.tools]
    limit = target.profile.max_output_tokens
    if limit is not None and q.NO_LIMIT not in omitted:
        body["max_output_tokens"] = limit
    return body | _reasoning(request, target)


def _tool(tool: ToolSpec, omitted: frozenset[str]) -> Block:
    block: Block = {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.schema),
    }
    return block if q.NO_STRICT in omitted else block | {"strict": False}


def _reasoning(request: ModelRequest, target: RequestTarget) -> Block:
    """Return the reasoning fields; empty for a model that does not reason."""
    level = closest_thought_level(target.family, request.thought_level)
    if level is None or target.profile.effort == "none" or q.NO_EFFORT in target.rejected:
        return {}
    reasoning: Block = {"effort": level}
    if q.NO_REASONING_SUMMARY not in target.rejected:
        reasoning["summary"] = "auto"
    fields: Block = {"reasoning": reasoning}
    if q.NO_ENCRYPTED_REASONING not in target.rejected:
        fields["include"] = [ENCRYPTED]
    return fields


def _input_items(message: Message, target: RequestTarget) -> Iterator[Block]:
    match message:
        case UserMessage():
            yield from _user_items(message, target)
        case AssistantMessage():
            items = [
                item
                for part in message.parts
                if (item := _assistant_item(part, target)) is not None
            ]
            yield from items or [_assistant_message(EMPTY_TEXT)]


def _user_items(message: UserMessage, target: RequestTarget) -> Iterator[Block]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for result in results:
        call_id = sanitize_call_id(result.call_id)
        yield {"type": "function_call_output", "call_id": call_id, "output": result_text(result)}
    media_parts = [part for result in results for part in _media_parts(result)]
    other_parts = [part for part in message.parts if not isinstance(part, ToolResult)]
    content = _content([*media_parts, *other_parts], target)
    if content or not results:
        empty: Block = {"type": "input_text", "text": EMPTY_TEXT}
        yield {"type": "message", "role": "user", "content": [*(content or [empty])]}


def _media_parts(result: ToolResult) -> Iterator[UserPart]:
    if result.media:
        yield Text(media_intro(result))
        yield from result.media


def _content(parts: Sequence[UserPart], target: RequestTarget) -> list[Block]:
    omitted = target.rejected
    pictures = MediaSupport(q.NO_IMAGES not in omitted, q.NO_FILES not in omitted)
    return [block for part in parts if (block := _block(part, pictures)) is not None]


def _block(part: UserPart, pictures: MediaSupport) -> Block | None:
    if isinstance(part, Media) and (picture := pictures.to_responses_part(part)) is not None:
        return picture
    text = "" if isinstance(part, ToolResult) else part_to_text(part)
    return {"type": "input_text", "text": text} if text.strip() else None


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
