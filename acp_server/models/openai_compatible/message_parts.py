"""Message parts that chat completions and Responses share: results, arguments, media."""

from dataclasses import dataclass

from acp_server.models.cache_markers import Block
from acp_server.turn.conversation import Media, ToolCall, ToolResult, arguments_of

NOTHING = "(nothing)"
FAILED = "The call failed:\n"
DOCUMENT_NAME = "document.pdf"


@dataclass(frozen=True, slots=True)
class Pictures:
    """Media types that a model accepts; other media are replaced by a text."""

    takes_images: bool
    takes_files: bool

    def chat(self, media: Media) -> Block | None:
        """Return a part of a chat message; None if the model does not accept the media."""
        address = _address(media)
        if media.mime_type.startswith("image/"):
            return _if(self.takes_images, {"type": "image_url", "image_url": {"url": address}})
        file: Block = {"filename": DOCUMENT_NAME, "file_data": address}
        return _if(self.takes_files, {"type": "file", "file": file})

    def responses(self, media: Media) -> Block | None:
        """Return a part of a Responses input message; None if the model does not accept it."""
        address = _address(media)
        if media.mime_type.startswith("image/"):
            image: Block = {"type": "input_image", "image_url": address, "detail": "auto"}
            return _if(self.takes_images, image)
        file: Block = {"type": "input_file", "filename": DOCUMENT_NAME, "file_data": address}
        return _if(self.takes_files, file)


def result_text(result: ToolResult) -> str:
    """Return the text of a tool result; a prefix marks failure, as the formats have no flag."""
    text = result.text or NOTHING
    return FAILED + text if result.is_error else text


def picture_intro(result: ToolResult) -> str:
    """Return the text that introduces the media of a result."""
    return f"What the call {result.call_id} shows:"


def written_arguments(call: ToolCall) -> str:
    """Return a call's arguments unchanged; `{}` if the model sent invalid JSON."""
    try:
        arguments_of(call)
    except ValueError:
        return "{}"
    return call.arguments or "{}"


def _address(media: Media) -> str:
    return f"data:{media.mime_type};base64,{media.data}"


def _if(is_taken: bool, block: Block) -> Block | None:  # noqa: FBT001  a condition
    return block if is_taken else None
