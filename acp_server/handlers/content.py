"""Content blocks of a prompt become the engine's message."""

from collections.abc import Sequence
from typing import assert_never

from acp_server.jsonrpc.errors import InvalidParamsError
from acp_server.protocol.content import (
    AudioContent,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)
from acp_server.turn.conversation import Attachment, Link, PromptPart, Text, UserMessage


def user_message(blocks: Sequence[ContentBlock]) -> UserMessage:
    """Return the message that a prompt's blocks make.

    Raises:
        InvalidParamsError: there is no block, or one of a kind that was not advertised.
    """
    if not blocks:
        reason = "prompt: there is nothing in it; send at least one content block"
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
        case ImageContent() | AudioContent() | EmbeddedResource():
            reason = (
                f"prompt.{index}: a block of type {block.type!r} is not accepted; "
                "this agent's promptCapabilities name what is"
            )
            raise InvalidParamsError(reason)
        case _:
            assert_never(block)
