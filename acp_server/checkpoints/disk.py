"""Files as they lie on disk, links never followed: what they are, and making them that. It blocks.

Knows neither turns nor leave to write: whoever puts something has asked before.
"""

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from acp_server.checkpoints.objects import name_of
from acp_server.checkpoints.records import State
from acp_server.frozen import frozen
from skills_store.atomic import write_held, write_in_place
from skills_store.held import HeldFolder, LinkInTheWayError

_OWNER_WRITES = 0o200


@frozen
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
    """Return what a path holds; None if nothing, or only behind a link.

    Raises:
        FolderInTheWayError: it is a folder.
        ObstacleError: it is something special.
        OSError: it cannot be read.
    """
    try:
        with HeldFolder.plain(path.parent) as folder:
            return _original_in(folder, path.name)
    except (FileNotFoundError, NotADirectoryError, LinkInTheWayError):
        return None


def put(path: Path, wanted: Original | None, expected: State | None) -> None:
    """Make a path without links in it hold this, where it holds what is expected; None is nothing.

    Folders are made as needed; an empty one in the place goes.

    Raises:
        ObstacleError: it holds something else.
        OSError: the system refuses, or a folder above is a link; the path holds what it held.
    """
    try:
        hold = HeldFolder.plain if wanted is None else HeldFolder.made
        folder = hold(path.parent)
    except (FileNotFoundError, NotADirectoryError, LinkInTheWayError):
        if wanted is None and expected is None:
            return
        raise
    with folder:
        _put_in(folder, path.name, wanted, expected)


def remove_empty_folder(path: Path) -> None:
    """Remove a folder that a path without links leads to, if nothing is in it.

    Raises:
        OSError: it holds something, or is none, or a folder above it is a link.
    """
    with HeldFolder.plain(path.parent) as folder:
        folder.rmdir(path.name)


def _original_in(folder: HeldFolder, name: str) -> Original | None:
    try:
        status = folder.status(name)
        if stat.S_ISLNK(status.st_mode):
            return Original("link", os.fsencode(folder.link_target(name)))
        if stat.S_ISDIR(status.st_mode):
            message = f"{name} is a folder"
            raise FolderInTheWayError(message)
        if not stat.S_ISREG(status.st_mode):
            message = f"{name} is no regular file"
            raise ObstacleError(message)
        with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as file:
            return Original("file", file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))
    except FileNotFoundError:
        return None


def _put_in(folder: HeldFolder, name: str, wanted: Original | None, expected: State | None) -> None:
    if wanted is not None and expected is None:
        with suppress(OSError):  # what is none, or not empty, is in the way and said to be
            folder.rmdir(name)
    found = _original_in(folder, name)
    if (None if found is None else found.state) != expected:
        message = f"{name} has changed meanwhile"
        raise ObstacleError(message)
    if wanted is None:
        if found is not None:
            folder.unlink(name)
    elif wanted.kind == "link":
        target = os.fsdecode(wanted.data)
        _put_beside(folder, name, lambda beside: folder.symlink_to(beside, target))
    elif found is not None and found.kind == "file" and folder.status(name).st_nlink > 1:
        _write_in_place(folder, name, wanted)
    elif found is not None and found.kind == "link":  # what it leads to is not to be looked at
        data, mode = wanted.data, wanted.mode
        _put_beside(folder, name, lambda beside: write_held(folder, beside, data, mode))
    else:
        write_held(folder, name, wanted.data, wanted.mode)


def _write_in_place(folder: HeldFolder, name: str, wanted: Original) -> None:
    """Write into a file that has other names too, so that these go on showing it."""
    mode = stat.S_IMODE(folder.status(name).st_mode)
    folder.chmod(name, wanted.mode | _OWNER_WRITES)
    try:
        write_in_place(folder, name, wanted.data)
        mode = wanted.mode
    finally:
        folder.chmod(name, mode)


def _put_beside(folder: HeldFolder, name: str, make: Callable[[str], None]) -> None:
    """Make something under another name, and rename it to its place."""
    beside = f".{secrets.token_hex(8)}"
    make(beside)
    try:
        folder.rename(beside, folder, name)
    finally:  # what was renamed is not there any more
        with suppress(FileNotFoundError):
            folder.unlink(beside)
