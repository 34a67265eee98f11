"""A memory file on disk: its bytes, the form they have, and writing that loses nothing.

The lock is Hermes' own, beside the name that the file goes by; a link is written where it leads.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from acp_server.frozen import frozen
from acp_server.memory.errors import StoreError
from prompt_engine.memory_entries import joined
from prompt_engine.sources.own_files import OwnText, read_own
from prompt_engine.sources.reading import Unread
from skills_store.atomic import write_atomically
from skills_store.locks import locked

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PRIVATE = 0o600


@frozen
class FileState:
    """A file at one moment; without bytes it is not there."""

    path: Path
    text: str = ""
    raw: bytes = b""
    is_there: bool = False

    def with_entries(self, entries: tuple[str, ...]) -> bytes:
        """Return the bytes of a file with these entries, in the form that this one has.

        A byte order mark and the ends of lines stay. The text ends with a line, so that what a
        person adds to it begins with one.
        """
        if not entries:
            return b""
        data = f"{joined(entries)}\n".encode()
        if 2 * self.raw.count(b"\r\n") > self.raw.count(b"\n"):
            data = data.replace(b"\n", b"\r\n")
        return _BYTE_ORDER_MARK + data if self.raw.startswith(_BYTE_ORDER_MARK) else data


def look_at(path: Path) -> FileState:
    """Return what a memory file holds.

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
    """Hold the lock of a memory file, which keeps Hermes out too.

    Raises:
        OSError: it was not to be had in time, or the folder cannot be made.
    """
    make_private(path.parent)
    with locked(path, patience_seconds):
        yield


def make_private(folder: Path) -> None:
    """Make a folder, and those above it that are missing, for its owner alone.

    Raises:
        OSError: it cannot be made.
    """
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def write(state: FileState, data: bytes) -> None:
    """Put other bytes in the place of a state.

    Raises:
        OSError: the file is as it was before.
    """
    write_atomically(state.path, data, mode=None if state.is_there else _PRIVATE)
