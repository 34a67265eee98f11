"""The engine's request becomes the body of a Messages call. Same request in, same bytes out.

Every message is written the same way each time it is sent, so that the provider's cache and the
seals of thinking blocks hold; what an endpoint was found to refuse is left out (`Omissions`).
Source: https://docs.anthropic.com/en/api/messages
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from pydantic import JsonValue

from acp_server.models.anthropic.server_tools import WEB_SEARCH, sendable
from acp_server.models.families import (
    ModelFamily,
    closest_thought_level,
    estimate_tokens,
    thinking_fields,
)
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
    arguments_of,
    text_of_part,
)
from acp_server.turn.ports import ModelRequest, ToolSpec

Block = dict[str, JsonValue]
Mark = Callable[[list[Block], list[Block]], tuple[list[Block], list[Block]]]
"""Places cache breakpoints: takes system blocks and messages, returns marked copies."""

WINDOW_MARGIN_TOKENS = 1_000
LEAST_OUTPUT_TOKENS = 1_024
LEAST_BUDGET_TOKENS = 1_024
IMAGE_TOKENS = 1_600
BYTES_PER_DOCUMENT_TOKEN = 100
"""A rough figure that errs high for pictures of ordinary size and for text-heavy PDFs."""
NOTHING = "(nothing)"

DISPENSABLE = (
    "web_search",
    "eager_input_streaming",
    "cache_control",
    "display",
    "output_config",
    "thinking",
)
"""Fields a request can do without, in the order in which an error message is searched for them."""


@dataclass(slots=True)
class Omissions:
    """What this endpoint refused for this model, and is asked without from then on."""

    fields: set[str] = field(default_factory=set[str])

    def learn(self, message: str) -> bool:
        """Note the field that a 400 names; false when it names none that is left to drop."""
        for name in DISPENSABLE:
            if name in message and name not in self.fields:
                self.fields.add(name)
                return True
        return False


def request_body(
    request: ModelRequest, family: ModelFamily, omit: Omissions, mark: Mark
) -> dict[str, JsonValue]:
    """Return everything of the call's body but the model and `stream`."""
    system: list[Block] = [{"type": "text", "text": request.system}] if request.system else []
    searches = bool(request.tools) and family.searches_web and "web_search" not in omit.fields
    messages = [_message(each) for each in sendable(request.messages, has_tools=searches)]
    if "cache_control" not in omit.fields:
        system, messages = mark(system, messages)
    limit = _output_limit(request, family)
    body: dict[str, JsonValue] = {
        "max_tokens": limit,
        "messages": list(messages),
    }
    if system:
        body["system"] = list(system)
    if request.tools:
        own = [dict(WEB_SEARCH)] if searches else []
        body["tools"] = [*(_tool(tool, omit) for tool in request.tools), *own]
    return body | _thinking(family, request.thought_level, omit, limit)


def estimate_request_tokens(request: ModelRequest) -> int:
    """Return about how many tokens a request is; rather too many than too few."""
    texts = [request.system, *(_text_of(message) for message in request.messages)]
    texts += [f"{tool.name} {tool.description} {tool.schema}" for tool in request.tools]
    media = sum(_media_tokens(message) for message in request.messages)
    return sum(estimate_tokens(text) for text in texts) + media


def _media_tokens(message: Message) -> int:
    """Return about what pictures and documents cost: a picture, or a page, its full size."""
    media = [part for part in message.parts if isinstance(part, Media)]
    results = (part for part in message.parts if isinstance(part, ToolResult))
    media += [each for result in results for each in result.media]
    return sum(max(IMAGE_TOKENS, len(each.data) // BYTES_PER_DOCUMENT_TOKEN) for each in media)


def _output_limit(request: ModelRequest, family: ModelFamily) -> int:
    """Return the largest answer that the model and the rest of its window allow."""
    room = family.context_window_tokens - estimate_request_tokens(request)
    return max(LEAST_OUTPUT_TOKENS, min(family.max_output_tokens, room - WINDOW_MARGIN_TOKENS))


def _thinking(family: ModelFamily, level: str | None, omit: Omissions, limit: int) -> Block:
    fields = thinking_fields(family, closest_thought_level(family, level))
    thinking = fields.get("thinking")
    if "display" in omit.fields and isinstance(thinking, dict):
        fields["thinking"] = {name: v for name, v in thinking.items() if name != "display"}
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    if isinstance(budget, int) and budget >= limit:  # near the end of the window
        half = limit // 2
        is_enough = half >= LEAST_BUDGET_TOKENS
        fields["thinking"] = (
            {"type": "enabled", "budget_tokens": half} if is_enough else {"type": family.off}
        )
    return {name: value for name, value in fields.items() if name not in omit.fields}


def _tool(tool: ToolSpec, omit: Omissions) -> Block:
    block: Block = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": dict(tool.schema),
    }
    if tool.streams_arguments and "eager_input_streaming" not in omit.fields:
        block["eager_input_streaming"] = True
    return block


def _message(message: Message) -> Block:
    if isinstance(message, AssistantMessage):
        blocks = [block for part in message.parts if (block := _reply_block(part)) is not None]
        return {"role": "assistant", "content": _never_empty(blocks)}
    blocks = [block for part in message.parts if (block := _user_block(part)) is not None]
    return {"role": "user", "content": _never_empty(blocks)}


def _never_empty(blocks: Sequence[Block]) -> list[JsonValue]:
    return [*blocks] or [{"type": "text", "text": NOTHING}]


def _user_block(part: UserPart) -> Block | None:
    match part:
        case Text() | Link() | Attachment():
            return _text_block(text_of_part(part))
        case Media():
            return _media_block(part)
        case ToolResult():
            result: Block = {
                "type": "tool_result",
                "tool_use_id": part.call_id,
                "content": _result_content(part),
            }
            return result | {"is_error": True} if part.is_error else result
        case _:
            assert_never(part)


def _result_content(result: ToolResult) -> JsonValue:
    """Return a result as text, or as blocks when it shows something."""
    if not result.media:
        return result.text or NOTHING
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
            block: Block = {
                "type": "thinking",
                "thinking": part.text,
                "signature": part.signature,
            }
            return block if part.signature else None
        case RedactedThinking():
            return {"type": "redacted_thinking", "data": part.data}
        case ToolCall():
            return {"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part)}
        case ProviderBlock():
            return dict(part.block)
        case _:
            assert_never(part)


def _text_block(text: str) -> Block | None:
    """Return a text block; None for white space, which the API refuses."""
    return {"type": "text", "text": text} if text.strip() else None


def _input(call: ToolCall) -> Block:
    """Return a call's arguments; those of a call that came broken are not sent back."""
    try:
        return arguments_of(call)
    except ValueError:
        return {}


def _text_of(message: Message) -> str:
    return " ".join(_part_text(part) for part in message.parts)


def _part_text(part: UserPart | ReplyPart) -> str:
    match part:
        case Text() | Link() | Attachment() | Media():
            return text_of_part(part)
        case ToolResult() | Thinking():
            return part.text
        case RedactedThinking():
            return part.data
        case ToolCall():
            return part.arguments
        case ProviderBlock():
            return json.dumps(part.block)
        case _:
            assert_never(part)
