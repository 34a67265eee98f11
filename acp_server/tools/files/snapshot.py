"""The state of a file when it was read."""

import hashlib

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
    is_saved: bool
    buffer: BufferStyle | None = None


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
        is_saved=True,
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
        return "its encoding or newlines changed"
    if base.disk_digest != current.disk_digest and not current.is_saved:
        return "the file on disk was replaced, and the editor has unsaved changes"
    return None
