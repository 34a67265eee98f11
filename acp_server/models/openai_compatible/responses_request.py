"""Builds the body of a Responses API request. Deterministic: same request in, same bytes out.

Nothing is stored at the endpoint: each request contains the whole conversation, with reasoning as
the encrypted items that the same model has returned.
Source: https://developers.openai.com/api/reference/resources/responses
"""

from collections.abc import Iterator, Sequence
from typing import assert_never

from pydantic import JsonValue

from acp_server.models.call_ids import fitting_call_id
from acp_server.models.families import closest_thought_level
from acp_server.models.openai_compatible import endpoint_profile as q
from acp_server.models.openai_compatible.chat_request import ChatTarget
from acp_server.models.openai_compatible.message_parts import (
    NOTHING,
    Block,
    Pictures,
    picture_intro,
    result_text,
    written_arguments,
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
    text_of_part,
)
from acp_server.turn.ports import ModelRequest, ToolSpec

ENCRYPTED = "reasoning.encrypted_content"


def responses_body(request: ModelRequest, target: ChatTarget) -> dict[str, JsonValue]:
    """Return the complete body of the request."""
    omitted = target.omitted
    body: dict[str, JsonValue] = {
        "model": target.model_id,
        "input": [item for message in request.messages for item in _items(message, target)],
        "stream": True,
    }
    if request.system:
        body["instructions"] = request.system
    if q.NO_STORE not in omitted:
        body["store"] = False
    if request.tools:
        body["tools"] = [_tool(tool, omitted) for tool in request.tools]
    limit = target.quirks.max_output_tokens
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


def _reasoning(request: ModelRequest, target: ChatTarget) -> Block:
    """Return the reasoning fields; empty for a model that does not reason."""
    level = closest_thought_level(target.family, request.thought_level)
    if level is None or target.quirks.effort is None or q.NO_EFFORT in target.omitted:
        return {}
    reasoning: Block = {"effort": level}
    if q.NO_SUMMARY not in target.omitted:
        reasoning["summary"] = "auto"
    fields: Block = {"reasoning": reasoning}
    if q.NO_SEALED not in target.omitted:
        fields["include"] = [ENCRYPTED]
    return fields


def _items(message: Message, target: ChatTarget) -> Iterator[Block]:
    match message:
        case UserMessage():
            yield from _said(message, target)
        case AssistantMessage():
            items = [item for part in message.parts if (item := _replied(part, target)) is not None]
            yield from items or [_spoken(NOTHING)]


def _said(message: UserMessage, target: ChatTarget) -> Iterator[Block]:
    results = [part for part in message.parts if isinstance(part, ToolResult)]
    for result in results:
        call_id = fitting_call_id(result.call_id)
        yield {"type": "function_call_output", "call_id": call_id, "output": result_text(result)}
    shown = [part for result in results for part in _shown(result)]
    said = [part for part in message.parts if not isinstance(part, ToolResult)]
    content = _content([*shown, *said], target)
    if content or not results:
        empty: Block = {"type": "input_text", "text": NOTHING}
        yield {"type": "message", "role": "user", "content": [*(content or [empty])]}


def _shown(result: ToolResult) -> Iterator[UserPart]:
    if result.media:
        yield Text(picture_intro(result))
        yield from result.media


def _content(parts: Sequence[UserPart], target: ChatTarget) -> list[Block]:
    omitted = target.omitted
    pictures = Pictures(q.NO_IMAGES not in omitted, q.NO_FILES not in omitted)
    return [block for part in parts if (block := _block(part, pictures)) is not None]


def _block(part: UserPart, pictures: Pictures) -> Block | None:
    if isinstance(part, Media) and (picture := pictures.responses(part)) is not None:
        return picture
    text = "" if isinstance(part, ToolResult) else text_of_part(part)
    return {"type": "input_text", "text": text} if text.strip() else None


def _replied(part: ReplyPart, target: ChatTarget) -> Block | None:
    match part:
        case Text() | ProviderBlock():
            return _spoken(part.text) if part.text.strip() else None
        case Thinking():
            kept = target.seal.content_of(part.signature)
            is_wanted = kept is not None and q.NO_SEALED not in target.omitted
            return {"type": "reasoning", **(kept or {})} if is_wanted else None
        case RedactedThinking():
            return None
        case ToolCall():
            return {
                "type": "function_call",
                "call_id": fitting_call_id(part.id),
                "name": part.name,
                "arguments": written_arguments(part),
            }
        case _:
            assert_never(part)


def _spoken(text: str) -> Block:
    return {"type": "message", "role": "assistant", "content": text}
