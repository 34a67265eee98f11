"""Files as they lie on disk, links never followed: what they are, and making them that. It blocks.

Knows neither turns nor leave to write: whoever puts something has asked before.
"""

import os
import secrets
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from acp_server.checkpoints.objects import name_of
from acp_server.checkpoints.records import State
from skills_store.atomic import write_atomically

_FLAGS: int = os.O_RDONLY | sum(
    getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_BINARY")
)
_OWNER_WRITES = 0o200


@dataclass(frozen=True, slots=True)
class Original:
    """A file with its bytes; of a link, where it leads."""

    kind: Literal["file", "link"]
    data: bytes
    mode: int = 0

    @property
    def state(self) -> State:
        """The same, its bytes by name."""
        return State(self.kind, name_of(self.data), self.mode)


class ObstacleError(OSError):
    """What is in the way is neither a file nor a link, or not what it was."""


class FolderInTheWayError(ObstacleError):
    """There is a folder."""


def original_at(path: Path) -> Original | None:
    """Return what a path holds; None if nothing.

    Raises:
        FolderInTheWayError: it is a folder.
        ObstacleError: it is something special.
        OSError: it cannot be read.
    """
    try:
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            return Original("link", os.fsencode(path.readlink()))
        if stat.S_ISDIR(status.st_mode):
            message = f"{path.name} is a folder"
            raise FolderInTheWayError(message)
        if not stat.S_ISREG(status.st_mode):
            message = f"{path.name} is no regular file"
            raise ObstacleError(message)
        with os.fdopen(os.open(path, _FLAGS), "rb") as file:
            return Original("file", file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))
    except (FileNotFoundError, NotADirectoryError):
        return None


def put(path: Path, wanted: Original | None, expected: State | None) -> None:
    """Make a path hold this, where it holds what is expected; None is nothing.

    Folders are made as needed; an empty one in the place goes.

    Raises:
        ObstacleError: it holds something else.
        OSError: the system refuses; the path holds what it held.
    """
    if wanted is not None and expected is None:
        _remove_empty_folder(path)
    found = original_at(path)
    if (None if found is None else found.state) != expected:
        message = f"{path.name} has changed meanwhile"
        raise ObstacleError(message)
    if wanted is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    if wanted.kind == "link":
        target = os.fsdecode(wanted.data)
        _replace_with(path, lambda beside: beside.symlink_to(target))
    elif found is not None and found.kind == "file" and path.lstat().st_nlink > 1:
        _write_in_place(path, wanted)
    else:
        _write_anew(path, wanted, is_link=found is not None and found.kind == "link")


def _remove_empty_folder(path: Path) -> None:
    if path.is_dir() and not path.is_symlink() and not any(path.iterdir()):
        path.rmdir()


def _write_anew(path: Path, wanted: Original, *, is_link: bool) -> None:
    if is_link:  # it would be followed
        path.unlink()
    write_atomically(path, wanted.data, wanted.mode)


def _write_in_place(path: Path, wanted: Original) -> None:
    """Write into a file that has other names too, so that these go on showing it."""
    path.chmod(wanted.mode | _OWNER_WRITES)
    with path.open("r+b") as file:
        file.write(wanted.data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    path.chmod(wanted.mode)


def _replace_with(path: Path, make: Callable[[Path], None]) -> None:
    beside = path.with_name(f".{secrets.token_hex(8)}")
    make(beside)
    try:
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
