"""The state of a file when it was read, and the results of reading and writing."""

import hashlib
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.files.encoding import Newline, TextForm
from acp_server.tools.files.paths import ResolvedPath


@frozen_dataclass
class DiskFile:
    """A text file on disk. `mode` holds its permission bits, `digest` is that of its bytes."""

    text: str
    form: TextForm
    mode: int
    digest: str
    size_bytes: int


@frozen_dataclass
class BufferStyle:
    """How the editor returns a file. `digest` is that of its text with newlines normalized."""

    digest: str
    newline: Newline | None
    has_bom: bool


@frozen_dataclass
class FileSnapshot:
    r"""An existing file when it was read, from disk or from the editor's buffer.

    `text` has `\n` newlines, unless the file mixes them. `form` is how it is or will be stored.
    `disk_digest` is that of the bytes on disk, None if the file exists in the editor only.
    `is_saved` is whether the disk holds this text; `buffer` is how the editor returned it.
    """

    resolved: ResolvedPath
    text: str
    form: TextForm
    mode: int
    disk_digest: str | None
    source: Literal["disk", "buffer"]
    is_saved: bool
    size_bytes: int
    buffer: BufferStyle | None = None


@frozen_dataclass
class FileExcerpt:
    """A range of lines of a file, starting at `first_line` (counted from 1).

    `line_count` is the number of lines in `text`; `total_lines` is None if they were not counted.
    `is_truncated` is whether the text was truncated because it was too long.
    """

    text: str
    first_line: int
    line_count: int
    total_lines: int | None
    is_truncated: bool = False


@frozen_dataclass
class WriteResult:
    """Result of a write. `is_repaired`: the disk was repaired after the editor saved."""

    snapshot: FileSnapshot
    through: Literal["editor", "disk"]
    is_repaired: bool = False


def bytes_digest(data: bytes) -> str:
    """Return the BLAKE2b digest of bytes, in hexadecimal."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def text_digest(text: str) -> str:
    """Return the BLAKE2b digest of a text, in hexadecimal."""
    return bytes_digest(text.encode(errors="surrogatepass"))


def disk_snapshot(
    resolved: ResolvedPath, disk_file: DiskFile, buffer: BufferStyle | None = None
) -> FileSnapshot:
    """Return the snapshot of a file whose text is that on disk."""
    return FileSnapshot(
        resolved=resolved,
        text=disk_file.text,
        form=disk_file.form,
        mode=disk_file.mode,
        disk_digest=disk_file.digest,
        source="disk",
        is_saved=True,
        size_bytes=disk_file.size_bytes,
        buffer=buffer,
    )


def describe_change(base: FileSnapshot | None, current: FileSnapshot | None) -> str | None:
    """Return how a file has changed since it was read; None if it has not.

    If an unsaved text was saved in between, the file is unchanged. If the disk changed under an
    unsaved text, the file has changed: writing would overwrite that version.
    """
    if current is None:
        return None if base is None else "it does not exist any more"
    if base is None:
        return "it exists by now"
    if base.text != current.text:
        return "its text is another"
    if base.form != current.form:
        return "its encoding or newlines are others"
    if base.disk_digest != current.disk_digest and not current.is_saved:
        return "the file on disk is another, under unsaved changes in the editor"
    return None
