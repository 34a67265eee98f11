"""What both forms say in the same way: results, arguments, pictures and documents."""

from dataclasses import dataclass

from acp_server.models.marking import Block
from acp_server.turn.conversation import Media, ToolCall, ToolResult, arguments_of

NOTHING = "(nothing)"
FAILED = "The call failed:\n"
DOCUMENT_NAME = "document.pdf"


@dataclass(frozen=True, slots=True)
class Pictures:
    """What of pictures and documents a model takes; the rest is named in a text."""

    takes_images: bool
    takes_files: bool

    def chat(self, media: Media) -> Block | None:
        """Return a part of a chat message; None for what is not taken."""
        address = _address(media)
        if media.mime_type.startswith("image/"):
            return _if(self.takes_images, {"type": "image_url", "image_url": {"url": address}})
        file: Block = {"filename": DOCUMENT_NAME, "file_data": address}
        return _if(self.takes_files, {"type": "file", "file": file})

    def responses(self, media: Media) -> Block | None:
        """Return a part of an input message; None for what is not taken."""
        address = _address(media)
        if media.mime_type.startswith("image/"):
            image: Block = {"type": "input_image", "image_url": address, "detail": "auto"}
            return _if(self.takes_images, image)
        file: Block = {"type": "input_file", "filename": DOCUMENT_NAME, "file_data": address}
        return _if(self.takes_files, file)


def result_text(result: ToolResult) -> str:
    """Return what a call led to; these forms have no other way to say that it failed."""
    text = result.text or NOTHING
    return FAILED + text if result.is_error else text


def picture_intro(result: ToolResult) -> str:
    """Return what stands before the pictures of a result."""
    return f"What the call {result.call_id} shows:"


def written_arguments(call: ToolCall) -> str:
    """Return a call's arguments as they came; those of a call that came broken are not sent."""
    try:
        arguments_of(call)
    except ValueError:
        return "{}"
    return call.arguments or "{}"


def _address(media: Media) -> str:
    return f"data:{media.mime_type};base64,{media.data}"


def _if(is_taken: bool, block: Block) -> Block | None:  # noqa: FBT001  a condition
    return block if is_taken else None
