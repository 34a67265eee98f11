"""A memory file on disk: its bytes, their format, and safe writing.

The lock is the one that Hermes uses, next to the path as configured; a symlink is followed for
writing.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from acp_server.memory.errors import StoreError
from acp_server.startup.fast_dataclass import frozen
from prompt_engine.memory_entries import joined
from prompt_engine.sources.file_reading import Unread
from prompt_engine.sources.user_files import OwnText, read_own
from skills_store.atomic import write_atomically
from skills_store.locks import locked

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PRIVATE = 0o600


@frozen
class FileState:
    """A file at one moment; without bytes if it does not exist."""

    path: Path
    text: str = ""
    raw: bytes = b""
    is_there: bool = False

    def with_entries(self, entries: tuple[str, ...]) -> bytes:
        """Return the bytes of a file with these entries, in the format of this file.

        Keeps the byte order mark and the line endings. The text ends with a newline, so that text
        appended by the user starts on a new line.
        """
        if not entries:
            return b""
        data = f"{joined(entries)}\n".encode()
        if 2 * self.raw.count(b"\r\n") > self.raw.count(b"\n"):
            data = data.replace(b"\n", b"\r\n")
        return _BYTE_ORDER_MARK + data if self.raw.startswith(_BYTE_ORDER_MARK) else data


def look_at(path: Path) -> FileState:
    """Return the current content of a memory file.

    Raises:
        StoreError: it cannot be read.
    """
    match read_own(path):
        case None:
            return FileState(path)
        case Unread(_, reason):
            raise StoreError(f"{path} cannot be read, and nothing was changed: {reason}")
        case OwnText(text, raw, real_path):
            return FileState(real_path, text, raw, is_there=True)


@contextmanager
def held(path: Path, patience_seconds: float) -> Generator[None]:
    """Hold the lock of a memory file, which excludes Hermes, too.

    Raises:
        OSError: the lock timed out, or the directory cannot be created.
    """
    # The lock file is created in this directory.
    make_private(path.parent)
    with locked(path, patience_seconds):
        yield


def make_private(folder: Path) -> None:
    """Create a directory and its missing parents, private to the user.

    Raises:
        OSError: it cannot be created.
    """
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def write(state: FileState, data: bytes) -> None:
    """Replace the content of a file atomically.

    Raises:
        OSError: the file is unchanged.
    """
    write_atomically(state.path, data, mode=None if state.is_there else _PRIVATE)
