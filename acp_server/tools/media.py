"""Pictures and documents that a model can look at, told apart by their first bytes."""

import base64

from anyio import to_thread

from acp_server.tools.files.disk import open_file
from acp_server.tools.files.paths import Place
from acp_server.turn.conversation import Media

MOST_IMAGE_BYTES = 3_750_000
"""Providers take 5 MB of base64."""
MOST_DOCUMENT_BYTES = 20_000_000
_STARTS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
)


class MediaError(Exception):
    """A picture or document that cannot be shown; the text says why and what to do."""


def media_type(head: bytes) -> str | None:
    """Return the media type of what begins so, if it is one that can be shown."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _STARTS if head.startswith(start)), None)


async def read_media(place: Place) -> Media | None:
    """Return a regular file as a picture or document; None when it is neither.

    Raises:
        MediaError: it is one, and too large.
        FileError: it may not be opened, or its folder is another by now.
        OSError: it cannot be read.
    """
    return await to_thread.run_sync(_read, place)


def _read(place: Place) -> Media | None:
    with open_file(place) as file:
        kind = media_type(file.read(16))
        if kind is None:
            return None
        file.seek(0)
        most = MOST_IMAGE_BYTES if kind.startswith("image/") else MOST_DOCUMENT_BYTES
        data = file.read(most + 1)
    if len(data) > most:
        message = (
            f"it is {kind} of more than {most / 1e6:.1f} MB, too large to look at; make a smaller "
            "copy or take out the part that matters"
        )
        raise MediaError(message)
    return Media(kind, base64.b64encode(data).decode())
