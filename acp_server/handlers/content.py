"""Maps content blocks of a prompt to the engine's message, and back."""

import base64
import binascii
from collections.abc import Sequence
from typing import NoReturn, assert_never

from acp_server.jsonrpc.errors import InvalidParamsError
from acp_server.protocol.content import (
    AudioContent,
    BlobResourceContents,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from acp_server.turn.conversation import Attachment, Link, Media, PromptPart, Text, UserMessage

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
MAX_IMAGE_CHARACTERS = 5_000_000
"""The largest image providers accept, in characters of base64."""


def user_message(blocks: Sequence[ContentBlock]) -> UserMessage:
    """Return the user message for the content blocks of a prompt.

    Raises:
        InvalidParamsError: there is no block, or one is not supported; the error names it.
    """
    if not blocks:
        reason = "prompt: it is empty; send at least one content block"
        raise InvalidParamsError(reason)
    return UserMessage(tuple(_part(index, block) for index, block in enumerate(blocks)))


def _part(index: int, block: ContentBlock) -> PromptPart:
    match block:
        case TextContent():
            return Text(block.text)
        case ResourceLink():
            return Link(block.uri, block.name)
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return Attachment(resource.uri, resource.text)
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            return _image(index, resource.mime_type or "", resource.blob)
        case ImageContent():
            return _image(index, block.mime_type, block.data)
        case AudioContent() | EmbeddedResource():
            return _reject(index, f"a block of type {block.type!r} is not accepted")
        case _:
            assert_never(block)


def _image(index: int, mime_type: str, data: str) -> Media:
    if mime_type not in IMAGE_TYPES:
        names = ", ".join(IMAGE_TYPES)
        return _reject(index, f"{mime_type or 'bytes of no type'!r} is not accepted, only {names}")
    if len(data) > MAX_IMAGE_CHARACTERS:
        return _reject(
            index, f"an image may have at most {MAX_IMAGE_CHARACTERS:,} characters of base64"
        )
    try:
        # Refuse it now: once in the conversation, the provider would reject every further request.
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return _reject(index, "the image is not valid base64")
    return Media(mime_type, data)


def _reject(index: int, problem: str) -> NoReturn:
    reason = f"prompt.{index}: {problem}; see this agent's promptCapabilities"
    raise InvalidParamsError(reason)


def to_content_block(part: PromptPart) -> ContentBlock:
    """Return a part of a prompt as a content block, for replay."""
    match part:
        case Text():
            return TextContent(text=part.text)
        case Link():
            return ResourceLink(uri=part.uri, name=part.name)
        case Attachment():
            return EmbeddedResource(resource=TextResourceContents(uri=part.uri, text=part.text))
        case Media(mime_type=mime_type) if mime_type in IMAGE_TYPES:
            return ImageContent(data=part.data, mime_type=mime_type)
        case Media():
            resource = BlobResourceContents(uri="", blob=part.data, mime_type=part.mime_type)
            return EmbeddedResource(resource=resource)
        case _:
            assert_never(part)
