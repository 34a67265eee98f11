"""Token estimate of a request, independent of the API format. Errs high."""

import json
from typing import assert_never

from acp_server.models.families import estimate_tokens
from acp_server.turn.conversation import (
    Attachment,
    Link,
    Media,
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
"""The least tokens of an image or document."""
BYTES_PER_DOCUMENT_TOKEN = 100
"""A rough ratio; it errs high for images of ordinary size and for text-heavy PDFs."""


def estimate_request_tokens(request: ModelRequest) -> int:
    """Estimate the prompt tokens of a request; errs high."""
    texts, media = [request.system], list[Media]()
    for message in request.messages:
        texts.append(" ".join(_part_text(part) for part in message.parts))
        for part in message.parts:
            if isinstance(part, Media):
                media.append(part)
            elif isinstance(part, ToolResult):
                media += part.media
    texts += [f"{tool.name} {tool.description} {tool.schema}" for tool in request.tools]
    media_tokens = (max(IMAGE_TOKENS, len(each.data) // BYTES_PER_DOCUMENT_TOKEN) for each in media)
    return sum(estimate_tokens(text) for text in texts) + sum(media_tokens)


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
