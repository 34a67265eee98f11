"""A memory file on disk: its bytes, their format, and safe writing.

The lock is the one that Hermes uses, next to the path as configured; a symlink is followed for
writing.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from acp_server.memory.errors import MemoryStoreError
from acp_server.startup.fast_dataclass import frozen_dataclass
from prompt_engine.memory_entries import join_entries
from prompt_engine.sources.file_reading import ReadFailure
from prompt_engine.sources.user_files import UserFileText, read_user_file
from skills_store.atomic import write_atomically
from skills_store.locks import locked

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PRIVATE = 0o600


@frozen_dataclass
class MemoryFileState:
    """A file at one moment; without bytes if it does not exist."""

    path: Path
    text: str = ""
    raw: bytes = b""
    exists: bool = False

    def with_entries(self, entries: tuple[str, ...]) -> bytes:
        """Return the bytes of a file with these entries, in the format of this file.

        Keeps the byte order mark and the line endings. The text ends with a newline, so that text
        appended by the user starts on a new line.
        """
        if not entries:
            return b""
        data = f"{join_entries(entries)}\n".encode()
        if 2 * self.raw.count(b"\r\n") > self.raw.count(b"\n"):
            data = data.replace(b"\n", b"\r\n")
        return _BYTE_ORDER_MARK + data if self.raw.startswith(_BYTE_ORDER_MARK) else data


def read_memory_file(path: Path) -> MemoryFileState:
    """Return the current content of a memory file.

    Raises:
        MemoryStoreError: it cannot be read.
    """
    match read_user_file(path):
        case None:
            return MemoryFileState(path)
        case ReadFailure(_, reason):
            raise MemoryStoreError(f"{path} cannot be read, and nothing was changed: {reason}")
        case UserFileText(text, raw, real_path):
            return MemoryFileState(real_path, text, raw, exists=True)


@contextmanager
def lock_memory_file(path: Path, timeout_seconds: float) -> Generator[None]:
    """Hold the lock of a memory file, which excludes Hermes, too.

    Raises:
        OSError: the lock timed out, or the directory cannot be created.
    """
    # The lock file is created in this directory.
    create_private_directory(path.parent)
    with locked(path, timeout_seconds):
        yield


def create_private_directory(folder: Path) -> None:
    """Create a directory and its missing parents, private to the user.

    Raises:
        OSError: it cannot be created.
    """
    for each in (*reversed(folder.parents), folder):
        if not each.is_dir():
            each.mkdir(mode=0o700, exist_ok=True)


def write_memory_file(state: MemoryFileState, data: bytes) -> None:
    """Replace the content of a file atomically.

    Raises:
        OSError: the file is unchanged.
    """
    write_atomically(state.path, data, mode=None if state.exists else _PRIVATE)
