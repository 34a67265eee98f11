"""Files of a repository, which may be anything: read within bounds, and without ever waiting.

A name may lead out of the workspace, to a pipe nobody writes to, a device, a folder or a file of
any size. Does not know what the files say.
"""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, TypeVar

MOST_BYTES = 16 * 1024 * 1024
MOST_REMEMBERED = 2_048
SETTLED_NANOSECONDS = 2_000_000_000

# A pipe opens at once, without a writer; the last name is no link, even if it became one just now.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

Identity = tuple[int, int]
"""Device and inode: the same file under another name, or in other letters on some disks."""

_Stamp = tuple[int, ...]
_Kept = TypeVar("_Kept")


@dataclass(frozen=True, slots=True)
class ReadFile:
    """The whole of a regular file."""

    real_path: Path
    identity: Identity
    raw: bytes


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that is there and was not read."""

    outcome: Literal["unreadable", "outside"]
    reason: str


def resolve(path: Path) -> Path:
    """Return a path without links; what is not there is kept as it is.

    Raises:
        ValueError: the path holds NUL.
    """
    return Path(os.path.realpath(path))


def read_within(
    path: Path, boundary: Path, most_bytes: int = MOST_BYTES
) -> ReadFile | Unread | None:
    """Return a file if it lies, its links followed, in `boundary`, a resolved folder.

    None if there is nothing of that name.
    """
    try:
        path.lstat()
    except OSError:
        return None
    real_path = resolve(path)
    if not real_path.is_relative_to(boundary):
        return Unread("outside", "it leads out of the workspace")
    try:
        if not stat.S_ISREG(real_path.lstat().st_mode):  # opening a device may already do harm
            return Unread("unreadable", "it is no regular file")
        return _read(real_path, most_bytes)
    except OSError as error:
        return Unread("unreadable", (error.strerror or "it cannot be read").lower())


def _read(path: Path, most_bytes: int) -> ReadFile | Unread:
    descriptor = os.open(path, _FLAGS)
    with open(descriptor, "rb") as file:  # noqa: PTH123  a descriptor, which is closed here
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return Unread("unreadable", "it is no regular file")
        raw = file.read(most_bytes + 1)
    if len(raw) > most_bytes:
        return Unread("unreadable", f"it is larger than {most_bytes:,} bytes")
    return ReadFile(path, (status.st_dev, status.st_ino), raw)


@dataclass(slots=True)
class Remembered(Generic[_Kept]):
    """What was made of files or folders, made anew when one has changed.

    Clocks of file systems are coarse: two changes in one tick look like one. So what changed just
    now is made anew each time.
    """

    make: Callable[[Path], _Kept]
    settled_nanoseconds: int = SETTLED_NANOSECONDS
    _known: dict[Path, tuple[_Stamp, _Kept]] = field(
        default_factory=dict[Path, tuple[_Stamp, _Kept]], init=False
    )

    def get(self, path: Path) -> _Kept | None:
        """Return what is made of a path now; None if nothing is there."""
        try:
            status = path.lstat()
        except OSError:
            return None
        if stat.S_ISLNK(status.st_mode):
            try:
                status = path.stat()
            except OSError:
                return self.make(path)
        stamp = _stamp(status)
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        made = self.make(path)
        if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > self.settled_nanoseconds:
            self._keep(path, stamp, made)
        return made

    def _keep(self, path: Path, stamp: _Stamp, made: _Kept) -> None:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[path] = (stamp, made)


def _stamp(status: os.stat_result) -> _Stamp:
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )
