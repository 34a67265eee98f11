"""Reads files of an untrusted repository within bounds and without blocking.

A name may be a link out of the workspace, a pipe without a writer, a device, a directory or a file
of any size. Content is not interpreted.
"""

import os
import stat
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Generic, Literal, TypeVar

MAX_BYTES = 16 * 1024 * 1024
MAX_CACHED = 2_048
SETTLED_NANOSECONDS = 2_000_000_000

# O_NONBLOCK: opening a pipe without a writer returns at once. O_NOFOLLOW: the path is already
# resolved, so a final component that is a link now was swapped in after the check.
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)

FileId = tuple[int, int]
"""Device and inode: identifies a file with several names, or in other case on some disks."""

_Stamp = tuple[int, ...]
_Cached = TypeVar("_Cached")


@dataclass(frozen=True, slots=True)
class ReadFile:
    """Complete content of a regular file."""

    real_path: Path
    identity: FileId
    raw: bytes


@dataclass(frozen=True, slots=True)
class ReadFailure:
    """File that exists but was not read."""

    outcome: Literal["unreadable", "outside"]
    reason: str


def resolve(path: Path) -> Path:
    """Resolve links in a path; missing components are kept.

    Raises:
        ValueError: the path contains NUL.
    """
    return Path(os.path.realpath(path))


def read_within(
    path: Path, boundary: Path, max_bytes: int = MAX_BYTES
) -> ReadFile | ReadFailure | None:
    """Read a file if, after following links, it is inside `boundary`, a resolved directory.

    Returns None if the name does not exist.
    """
    try:
        path.lstat()
    except OSError:
        return None
    real_path = resolve(path)
    if not real_path.is_relative_to(boundary):
        return ReadFailure("outside", "it links to a file outside the workspace")
    try:
        if not stat.S_ISREG(real_path.lstat().st_mode):  # opening a device can have side effects
            return ReadFailure("unreadable", "it is not a regular file")
        return _read_regular_file(real_path, max_bytes)
    except OSError as error:
        return ReadFailure("unreadable", (error.strerror or "it cannot be read").lower())


def _read_regular_file(path: Path, max_bytes: int) -> ReadFile | ReadFailure:
    descriptor = os.open(path, _FLAGS)
    with open(descriptor, "rb") as file:  # noqa: PTH123  a descriptor, which is closed here
        # Check again on the descriptor: the path may have been replaced since lstat.
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            return ReadFailure("unreadable", "it is not a regular file")
        # One byte more than allowed: detects a file that is too large, or that grew since fstat.
        raw = file.read(max_bytes + 1)
    if len(raw) > max_bytes:
        return ReadFailure("unreadable", f"it is larger than {max_bytes:,} bytes")
    return ReadFile(path, (status.st_dev, status.st_ino), raw)


@dataclass(slots=True)
class FileCache(Generic[_Cached]):
    """Cache of values derived from files or directories, invalidated by their stat data.

    File-system timestamps are coarse: two changes within one tick are indistinguishable. A path
    that changed less than `settled_nanoseconds` ago is therefore derived again each time.
    """

    load: Callable[[Path], _Cached]
    settled_nanoseconds: int = SETTLED_NANOSECONDS
    _known: dict[Path, tuple[_Stamp, _Cached]] = field(
        default_factory=dict[Path, tuple[_Stamp, _Cached]], init=False
    )

    def get(self, path: Path) -> _Cached | None:
        """Return the value for the current state of a path; None if it does not exist."""
        try:
            status = path.lstat()
        except OSError:
            return None
        if stat.S_ISLNK(status.st_mode):
            try:
                status = path.stat()
            except OSError:
                return self.load(path)
        stamp = (
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
        known = self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        value = self.load(path)
        if time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > self.settled_nanoseconds:
            if len(self._known) >= MAX_CACHED:
                self._known.clear()
            self._known[path] = (stamp, value)
        return value
