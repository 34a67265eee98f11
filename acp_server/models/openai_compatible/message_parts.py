"""Message parts that chat completions and Responses share: results, arguments, media."""

from dataclasses import dataclass

from acp_server.models.cache_markers import Block
from acp_server.turn.conversation import Media, ToolCall, ToolResult, parse_arguments

EMPTY_TEXT = "(nothing)"
FAILED_PREFIX = "The call failed:\n"
DOCUMENT_NAME = "document.pdf"


@dataclass(frozen=True, slots=True)
class MediaSupport:
    """Media types that a model accepts; other media are replaced by a text."""

    accepts_images: bool
    accepts_files: bool

    def to_chat_part(self, media: Media) -> Block | None:
        """Return a part of a chat message; None if the model does not accept the media."""
        address = _data_url(media)
        if media.mime_type.startswith("image/"):
            return _block_if(
                self.accepts_images, {"type": "image_url", "image_url": {"url": address}}
            )
        file: Block = {"filename": DOCUMENT_NAME, "file_data": address}
        return _block_if(self.accepts_files, {"type": "file", "file": file})

    def to_responses_part(self, media: Media) -> Block | None:
        """Return a part of a Responses input message; None if the model does not accept it."""
        address = _data_url(media)
        if media.mime_type.startswith("image/"):
            image: Block = {"type": "input_image", "image_url": address, "detail": "auto"}
            return _block_if(self.accepts_images, image)
        file: Block = {"type": "input_file", "filename": DOCUMENT_NAME, "file_data": address}
        return _block_if(self.accepts_files, file)


def result_text(result: ToolResult) -> str:
    """Return the text of a tool result; a prefix marks failure, as the formats have no flag."""
    text = result.text or EMPTY_TEXT
    return FAILED_PREFIX + text if result.is_error else text


def media_intro(result: ToolResult) -> str:
    """Return the text that introduces the media of a result."""
    return f"What the call {result.call_id} shows:"


def arguments_json(call: ToolCall) -> str:
    """Return a call's arguments unchanged; `{}` if the model sent invalid JSON."""
    try:
        parse_arguments(call)
    except ValueError:
        return "{}"
    return call.arguments or "{}"


def _data_url(media: Media) -> str:
    return f"data:{media.mime_type};base64,{media.data}"


def _block_if(is_taken: bool, block: Block) -> Block | None:  # noqa: FBT001  a condition
    return block if is_taken else None
