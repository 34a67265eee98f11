"""Content blocks: text, media and resources in prompts, messages and tool results.

The same shapes as in MCP. `PromptCapabilities` says which kinds a prompt may contain.
"""

from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from acp_server.protocol.model import ExtensibleModel, FilteredArray, Int64, Lenient

Role: TypeAlias = Literal["assistant", "user"]


class Annotations(ExtensibleModel):
    """Hints on a block: audience, modification time (ISO 8601), priority (0 to 1)."""

    audience: Lenient[FilteredArray[Role]] = None
    last_modified: Lenient[str] = None
    priority: Lenient[float] = None


class TextContent(ExtensibleModel):
    """Text, usually Markdown."""

    type: Literal["text"] = "text"
    text: str
    annotations: Lenient[Annotations] = None


class ImageContent(ExtensibleModel):
    """An image, as base64, with its source URI if known."""

    type: Literal["image"] = "image"
    data: str
    mime_type: str
    uri: Lenient[str] = None
    annotations: Lenient[Annotations] = None


class AudioContent(ExtensibleModel):
    """Audio, as base64."""

    type: Literal["audio"] = "audio"
    data: str
    mime_type: str
    annotations: Lenient[Annotations] = None


class ResourceLink(ExtensibleModel):
    """A reference to a resource that the receiver can read; `size` is in bytes."""

    type: Literal["resource_link"] = "resource_link"
    name: str
    uri: str
    title: Lenient[str] = None
    description: Lenient[str] = None
    mime_type: Lenient[str] = None
    size: Lenient[Int64] = None
    annotations: Lenient[Annotations] = None


class TextResourceContents(ExtensibleModel):
    """The complete text of a resource."""

    uri: str
    text: str
    mime_type: Lenient[str] = None


class BlobResourceContents(ExtensibleModel):
    """The complete bytes of a resource, as base64."""

    uri: str
    blob: str
    mime_type: Lenient[str] = None


EmbeddedResourceResource: TypeAlias = Annotated[
    TextResourceContents | BlobResourceContents, Field(union_mode="left_to_right")
]


class EmbeddedResource(ExtensibleModel):
    """A resource whose contents are part of the message."""

    type: Literal["resource"] = "resource"
    resource: EmbeddedResourceResource
    annotations: Lenient[Annotations] = None


ContentBlock: TypeAlias = Annotated[
    TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource,
    Field(discriminator="type"),
]
