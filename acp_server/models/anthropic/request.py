"""Builds the body of a Messages API request. Deterministic: same request in, same bytes out.

Each message must be serialized identically every time it is sent. Otherwise the provider's prompt
cache misses and the signatures of thinking blocks become invalid. Fields that an endpoint has
rejected are omitted (`RejectedFields`).
Source: https://docs.anthropic.com/en/api/messages
"""

from collections.abc import Sequence
from typing import assert_never

from pydantic import JsonValue

from acp_server.models.anthropic.server_tools import WEB_SEARCH, drop_unsendable_blocks
from acp_server.models.anthropic.thinking import build_thinking_fields
from acp_server.models.cache_markers import Block, CacheMarker
from acp_server.models.call_ids import sanitize_call_id
from acp_server.models.families import ModelFamily
from acp_server.models.reasoning_signature import is_own_signature
from acp_server.models.rejected_fields import RejectedFields
from acp_server.models.token_estimate import estimate_request_tokens
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
from acp_server.turn.ports import ModelRequest, ToolSpec

WINDOW_MARGIN_TOKENS = 1_000
MIN_OUTPUT_TOKENS = 1_024
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
    messages = [
        _message(each) for each in drop_unsendable_blocks(request.messages, has_tools=searches)
    ]
    if "cache_control" not in rejected.fields:
        system, messages = cache_marker(system, messages)
    limit = _output_limit(request, family)
    body: dict[str, JsonValue] = {
        "max_tokens": limit,
        "messages": list(messages),
    }
    if system:
        body["system"] = list(system)
    if request.tools:
        server_tools = [dict(WEB_SEARCH)] if searches else []
        body["tools"] = [*(_tool(tool, rejected) for tool in request.tools), *server_tools]
    return body | build_thinking_fields(family, request.thought_level, rejected, limit, messages)


def _output_limit(request: ModelRequest, family: ModelFamily) -> int:
    """Return the largest answer that the model and the rest of its context window allow."""
    available = family.context_window_tokens - estimate_request_tokens(request)
    return max(MIN_OUTPUT_TOKENS, min(family.max_output_tokens, available - WINDOW_MARGIN_TOKENS))


def _tool(tool: ToolSpec, rejected: RejectedFields) -> Block:
    block: Block = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.schema),
    }
    if tool.streams_arguments and "eager_input_streaming" not in rejected.fields:
        block["eager_input_streaming"] = True
    return block


def _message(message: Message) -> Block:
    if isinstance(message, AssistantMessage):
        blocks = [block for part in message.parts if (block := _reply_block(part)) is not None]
        return {"role": "assistant", "content": _or_placeholder(blocks)}
    blocks = [block for part in message.parts if (block := _user_block(part)) is not None]
    return {"role": "user", "content": _or_placeholder(blocks)}


def _or_placeholder(blocks: Sequence[Block]) -> list[JsonValue]:
    return [*blocks] or [{"type": "text", "text": EMPTY_TEXT}]


def _user_block(part: UserPart) -> Block | None:
    match part:
        case Text() | Link() | Attachment():
            return _text_block(part_to_text(part))
        case Media():
            return _media_block(part)
        case ToolResult():
            result: Block = {
                "type": "tool_result",
                "tool_use_id": sanitize_call_id(part.call_id),
                "content": _result_content(part),
            }
            return result | {"is_error": True} if part.is_error else result
        case _:
            assert_never(part)


def _result_content(result: ToolResult) -> JsonValue:
    """Return a result as text, or as blocks if it has media."""
    if not result.media:
        return result.text or EMPTY_TEXT
    text = _text_block(result.text)
    return [*([text] if text else []), *(_media_block(media) for media in result.media)]


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
        case Thinking():
            return _thinking_block(part)
        case RedactedThinking():
            return (
                None
                if is_own_signature(part.data)
                else {"type": "redacted_thinking", "data": part.data}
            )
        case ToolCall():
            call_id = sanitize_call_id(part.id)
            return {
                "type": "tool_use",
                "id": call_id,
                "name": part.name,
                "input": _tool_input(part),
            }
        case ProviderBlock():
            return dict(part.block)
        case _:
            assert_never(part)


def _thinking_block(part: Thinking) -> Block | None:
    """Return a thinking block; None for one that this API has not signed."""
    # The API answers 400 to thinking without its own signature, e.g. another model's.
    if not part.signature or is_own_signature(part.signature):
        return None
    return {"type": "thinking", "thinking": part.text, "signature": part.signature}


def _text_block(text: str) -> Block | None:
    """Return a text block; None for white space only, which the API rejects."""
    return {"type": "text", "text": text} if text.strip() else None


def _tool_input(call: ToolCall) -> Block:
    """Return a call's arguments; empty if the model sent invalid JSON, which the API rejects."""
    try:
        return parse_arguments(call)
    except ValueError:
        return {}
