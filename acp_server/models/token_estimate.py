"""Token estimate of a request, independent of the API format. Errs high."""

import json
from typing import assert_never

from acp_server.models.families import estimate_tokens
from acp_server.turn.conversation import (
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
    part_to_text,
)
from acp_server.turn.ports import ModelRequest

IMAGE_TOKENS = 1_600
BYTES_PER_DOCUMENT_TOKEN = 100
"""A rough ratio; it errs high for images of ordinary size and for text-heavy PDFs."""


def estimate_request_tokens(request: ModelRequest) -> int:
    """Estimate the prompt tokens of a request; errs high."""
    texts = [request.system, *(_text_of(message) for message in request.messages)]
    texts += [f"{tool.name} {tool.description} {tool.schema}" for tool in request.tools]
    media = sum(_media_tokens(message) for message in request.messages)
    return sum(estimate_tokens(text) for text in texts) + media


def _media_tokens(message: Message) -> int:
    """Estimate the tokens of images and documents, at least `IMAGE_TOKENS` for each."""
    media = [part for part in message.parts if isinstance(part, Media)]
    results = (part for part in message.parts if isinstance(part, ToolResult))
    media += [each for result in results for each in result.media]
    return sum(max(IMAGE_TOKENS, len(each.data) // BYTES_PER_DOCUMENT_TOKEN) for each in media)


def _text_of(message: Message) -> str:
    return " ".join(_part_text(part) for part in message.parts)


def _part_text(part: UserPart | ReplyPart) -> str:
    match part:
        case Text() | Link() | Attachment() | Media():
            return part_to_text(part)
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
