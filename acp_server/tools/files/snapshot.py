"""What a file was when it was looked at: the start of an edit, and its outcome."""

import hashlib
from typing import Literal

from acp_server.frozen import frozen
from acp_server.tools.files.encoding import Newline, TextForm
from acp_server.tools.files.paths import Place


@frozen
class OnDisk:
    """A text file as it lies on disk. `mode` are its permission bits."""

    text: str
    form: TextForm
    mode: int
    digest: str
    size_bytes: int


@frozen
class BufferStyle:
    """How the editor hands a file out; `digest` is that of its text, whatever the newlines."""

    digest: str
    newline: Newline | None
    has_bom: bool


@frozen
class Snapshot:
    r"""A file as its reader sees it; a file that does not exist has none.

    `text` has `\n` newlines, unless the file mixes them. `form` is how it is, or is to be, stored.
    `disk_digest` is that of the bytes on disk, None if the file is in the editor only.
    `is_saved` tells whether the disk holds this text, `buffer` how the editor handed it out.
    """

    place: Place
    text: str
    form: TextForm
    mode: int
    disk_digest: str | None
    source: Literal["disk", "buffer"]
    is_saved: bool
    size_bytes: int
    buffer: BufferStyle | None = None


@frozen
class Part:
    """Some lines of a file, from `first_line` (the first is 1).

    `line_count` is how many lines `text` has, `total_lines` None if nobody has counted them.
    `is_cut` tells that the text ends early because it would have been too long.
    """

    text: str
    first_line: int
    line_count: int
    total_lines: int | None
    is_cut: bool = False


@frozen
class Written:
    """How a write ended. `mended` tells that the disk was put right behind the editor."""

    snapshot: Snapshot
    through: Literal["editor", "disk"]
    mended: bool = False


def digest_of(data: bytes) -> str:
    """Return a short name for bytes, different for different ones."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def text_digest(text: str) -> str:
    """Return a short name for a text, different for different ones."""
    return digest_of(text.encode(errors="surrogatepass"))


def disk_snapshot(place: Place, found: OnDisk, buffer: BufferStyle | None = None) -> Snapshot:
    """Return the snapshot of a file that is what the disk says."""
    return Snapshot(
        place=place,
        text=found.text,
        form=found.form,
        mode=found.mode,
        disk_digest=found.digest,
        source="disk",
        is_saved=True,
        size_bytes=found.size_bytes,
        buffer=buffer,
    )


def difference(base: Snapshot | None, now: Snapshot | None) -> str | None:
    """Return how a file has moved on since it was looked at; None if it has not.

    An unsaved text that was saved is still the same; one under which the disk changed is not.
    """
    if now is None:
        return None if base is None else "it does not exist any more"
    if base is None:
        return "it exists by now"
    if base.text != now.text:
        return "its text is another"
    if base.form != now.form:
        return "its encoding or newlines are others"
    if base.disk_digest != now.disk_digest and not now.is_saved:
        return "the file on disk is another, under unsaved changes in the editor"
    return None
