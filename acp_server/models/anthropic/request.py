"""Builds the body of a Messages API request. Deterministic: same request in, same bytes out.

Each message must be serialized identically every time it is sent. Otherwise the provider's prompt
cache misses and the signatures of thinking blocks become invalid. Fields that an endpoint has
rejected are omitted (`RejectedFields`).
Source: https://docs.anthropic.com/en/api/messages
"""

from typing import assert_never

from pydantic import JsonValue

from acp_server.models.anthropic.server_tools import WEB_SEARCH, drop_unsendable_blocks
from acp_server.models.anthropic.thinking import build_thinking_fields
from acp_server.models.cache_markers import Block, CacheMarker
from acp_server.models.call_ids import sanitize_call_id
from acp_server.models.families import ModelFamily, answer_limit
from acp_server.models.message_cache import MessageCache
from acp_server.models.reasoning_signature import is_own_signature
from acp_server.models.rejected_fields import RejectedFields
from acp_server.models.token_estimate import prompt_tokens
from acp_server.turn.conversation import (
    AssistantMessage,
    Attachment,
    Link,
    Media,
    Message,
    ProviderBlock,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserPart,
    parse_arguments,
    part_to_text,
)
from acp_server.turn.ports import ModelRequest

EMPTY_TEXT = "(nothing)"

OPTIONAL_FIELDS = (
    "web_search",
    "eager_input_streaming",
    "cache_control",
    "display",
    "output_config",
    "thinking",
)
"""Optional request fields, in the order in which an error message is searched for them."""


def new_rejected_fields() -> RejectedFields:
    """Return the rejected fields of a new endpoint: none yet."""
    return RejectedFields({name: name for name in OPTIONAL_FIELDS})


def build_request_body(
    request: ModelRequest, family: ModelFamily, rejected: RejectedFields, cache_marker: CacheMarker
) -> dict[str, JsonValue]:
    """Return the body of the request without `model` and `stream`."""
    system: list[Block] = [{"type": "text", "text": request.system}] if request.system else []
    searches = bool(request.tools) and family.searches_web and "web_search" not in rejected.fields
    sendable = drop_unsendable_blocks(request.messages, has_tools=searches)
    messages = list(map(_WIRE_MESSAGES.get, sendable))
    if "cache_control" not in rejected.fields:
        system, messages = cache_marker(system, messages, settled=request.settled_ends)
    limit = answer_limit(family, prompt_tokens(request, family))
    body: dict[str, JsonValue] = {"max_tokens": limit, "messages": list(messages)}
    if system:
        body["system"] = list(system)
    if request.tools:
        tools: list[Block] = []
        for tool in request.tools:
            block: Block = {"name": tool.name, "description": tool.description}
            block["input_schema"] = dict(tool.schema)
            if tool.streams_arguments and "eager_input_streaming" not in rejected.fields:
                block["eager_input_streaming"] = True
            tools.append(block)
        body["tools"] = [*tools, *([dict(WEB_SEARCH)] if searches else [])]
    return body | build_thinking_fields(family, request.thought_level, rejected, limit, messages)


def _wire_message(message: Message) -> Block:
    if isinstance(message, AssistantMessage):
        role, blocks = "assistant", [_reply_block(part) for part in message.parts]
    else:
        role, blocks = "user", [_user_block(part) for part in message.parts]
    content: list[JsonValue] = [block for block in blocks if block is not None]
    return {"role": role, "content": content or [{"type": "text", "text": EMPTY_TEXT}]}


_WIRE_MESSAGES = MessageCache(_wire_message)


def _user_block(part: UserPart) -> Block | None:
    match part:
        case Text() | Link() | Attachment():
            return _text_block(part_to_text(part))
        case Media():
            return _media_block(part)
        case ToolResult():
            content: JsonValue = part.text or EMPTY_TEXT
            if part.media:  # a list only then
                text = _text_block(part.text)
                content = [*([text] if text else []), *map(_media_block, part.media)]
            result: Block = {
                "type": "tool_result",
                "tool_use_id": sanitize_call_id(part.call_id),
                "content": content,
            }
            return result | {"is_error": True} if part.is_error else result
        case _:
            assert_never(part)


def _media_block(media: Media) -> Block:
    is_image = media.mime_type.startswith("image/")
    return {
        "type": "image" if is_image else "document",
        "source": {"type": "base64", "media_type": media.mime_type, "data": media.data},
    }


def _reply_block(part: ReplyPart) -> Block | None:
    match part:
        case Text():
            return _text_block(part.text)
        # The API answers 400 to thinking without its own signature, e.g. another model's.
        case Thinking() if part.signature and not is_own_signature(part.signature):
            return {"type": "thinking", "thinking": part.text, "signature": part.signature}
        case RedactedThinking() if not is_own_signature(part.data):
            return {"type": "redacted_thinking", "data": part.data}
        case Thinking() | RedactedThinking():
            return None
        case ToolCall():
            try:
                arguments = parse_arguments(part)
            except ValueError:  # the model sent invalid JSON, which the API rejects
                arguments = {}
            call_id = sanitize_call_id(part.id)
            return {"type": "tool_use", "id": call_id, "name": part.name, "input": arguments}
        case ProviderBlock():
            return dict(part.block)
        case _:
            assert_never(part)


def _text_block(text: str) -> Block | None:
    """Return a text block; None for white space only, which the API rejects."""
    return {"type": "text", "text": text} if text.strip() else None
