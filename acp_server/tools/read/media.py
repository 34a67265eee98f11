"""Reads images and PDF documents for the model; the type is detected from the first bytes."""

import base64

from anyio import to_thread

from acp_server.tools.files.disk import open_file
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import ResolvedPath
from acp_server.turn.conversation import Media

MAX_IMAGE_BYTES = 3_750_000
"""Providers accept 5 MB of base64, which is 3.75 MB of data."""
MAX_DOCUMENT_BYTES = 20_000_000
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


class MediaError(FileError):
    """An image or document cannot be shown. The text says why, and how to continue."""


def media_type(head: bytes) -> str | None:
    """Return the media type of data with these first bytes; None if models cannot see it."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for signature, kind in _SIGNATURES if head.startswith(signature)), None)


async def read_media(resolved: ResolvedPath) -> Media | None:
    """Read a regular file as an image or document; None if it is neither.

    Raises:
        MediaError: It is one, but too large.
        FileError: It must not be opened, or its directory was replaced.
        OSError: It cannot be read.
    """
    return await to_thread.run_sync(_read, resolved)


def _read(resolved: ResolvedPath) -> Media | None:
    with open_file(resolved) as file:
        kind = media_type(file.read(16))
        if kind is None:
            return None
        file.seek(0)
        max_bytes = MAX_IMAGE_BYTES if kind.startswith("image/") else MAX_DOCUMENT_BYTES
        data = file.read(max_bytes + 1)  # one byte more tells whether it is too large
    if len(data) > max_bytes:
        message = (
            f"it is {kind} of more than {max_bytes / 1e6:.1f} MB, too large to show; make a "
            "smaller copy, or extract the part that matters"
        )
        raise MediaError(message)
    return Media(kind, base64.b64encode(data).decode())
