"""A disk that fails: one operation of a piece of work, the n-th, ends as the plan says.

    trace = operations_of(work, root)                  # what the work does below a folder
    with failing(root, Plan(3, "write", ENOSPC)):      # the same, with its third operation failing
        work()

Every way in which Python code of ours reaches files is stood before: the functions of `os`,
`open`, what is read and written through it, and `flock`. Only what lies below the folder counts.
SQLite and other programs have ways of their own, which this cannot see.
"""

import builtins
import errno
import fcntl
import io
import os
import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, cast

import pytest

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer, WriteableBuffer

Kind = Literal[
    "open to read",
    "open to write",
    "read",
    "write",
    "overwrite",
    "sync",
    "rename",
    "remove",
    "make",
    "mark",
    "lock",
    "look",
]
Fault = Literal["ENOSPC", "EIO", "EACCES", "short write", "short write, then ENOSPC"]

FAULTS: dict[Kind, tuple[Fault, ...]] = {
    "open to read": ("EIO", "EACCES"),
    "open to write": ("ENOSPC", "EIO", "EACCES"),
    "read": ("EIO",),
    "write": ("ENOSPC", "EIO", "short write", "short write, then ENOSPC"),
    "overwrite": ("EIO", "short write"),
    "sync": ("EIO", "ENOSPC"),
    "rename": ("ENOSPC", "EIO", "EACCES"),
    "remove": ("EIO", "EACCES"),
    "make": ("ENOSPC", "EACCES"),
    "mark": ("EIO", "EACCES"),
    "lock": ("EIO",),
    "look": ("EIO", "EACCES"),
}
"""What each kind of operation may fail with."""

_NAMES: dict[str, Kind] = {
    "replace": "rename",
    "rename": "rename",
    "link": "rename",
    "unlink": "remove",
    "remove": "remove",
    "rmdir": "remove",
    "mkdir": "make",
    "symlink": "make",
    "chmod": "mark",
    "fchmod": "mark",
    "utime": "mark",
    "truncate": "overwrite",
    "ftruncate": "overwrite",
    "sendfile": "write",
    "fsync": "sync",
    "scandir": "look",
    "listdir": "look",
}
_TAKING_ROOM = ("write", "open to write", "make")
"""What goes on failing on a full disk; what is written over other bytes needs no room."""
_TIME = re.compile(r"\d{15,}|\d{8}T\d+(-[0-9a-f]{6})?")
_FOLDER: int = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0)
_WRITING: int = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that was done to the disk."""

    kind: Kind
    name: str
    """The function's."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which operation fails, from 1, and how."""

    number: int
    fault: Fault
    is_lasting: bool = False
    """Whether the disk is full from then on."""


@dataclass(slots=True)
class Disk:
    """Counts operations, and fails as planned."""

    root: str
    plan: Plan | None = None
    trace: list[Operation] = field(default_factory=list[Operation])
    places: dict[int, str] = field(default_factory=dict[int, str])
    """The paths of the descriptors that were opened meanwhile."""
    is_full: bool = False

    def place(self, name: object, folder: object = None) -> str:
        """Return the path that an argument means, in a folder that is held, if one is."""
        if isinstance(name, int):
            return self.places.get(name, "")
        if not isinstance(name, str | os.PathLike):
            return ""
        return os.path.join(self.place(folder), os.fspath(cast("str", name)))  # noqa: PTH118

    def concerns(self, name: object, folder: object = None) -> bool:
        """Whether an argument means something below the folder."""
        return self.place(name, folder).startswith(self.root)

    def step(self, kind: Kind, name: str) -> Fault | None:
        """Count an operation; return what kind of short write it is, if it is one.

        Raises:
            OSError: it fails.
        """
        self.trace.append(Operation(kind, name))
        if self.is_full and kind in _TAKING_ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plan = self.plan
        if plan is None or len(self.trace) != plan.number:
            return None
        if plan.fault in {"short write", "short write, then ENOSPC"}:
            return plan.fault
        self.is_full = plan.is_lasting
        code = getattr(errno, plan.fault)
        raise OSError(code, os.strerror(code))

    def put(
        self, data: memoryview, write: Callable[[memoryview], int | None], *, grows: bool = True
    ) -> int | None:
        """Write bytes, perhaps not all; `grows` says whether the file becomes longer by it."""
        short = self.step("write" if grows else "overwrite", "write")
        if short is None:
            return write(data)
        written = write(data[: max(1, len(data) // 2)])
        self.is_full = short == "short write, then ENOSPC"
        return written


class _Raw(io.FileIO):
    """A file under the disk's eyes."""

    disk: Disk

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        self.disk.step("read", "readinto")
        return super().readinto(buffer)

    def readall(self) -> bytes:
        self.disk.step("read", "readall")
        return super().readall()

    def write(self, data: "ReadableBuffer", /) -> int:
        view = memoryview(data)
        grows = self.tell() + len(view) > os.fstat(self.fileno()).st_size
        return self.disk.put(view, super().write, grows=grows) or 0

    def truncate(self, size: int | None = None, /) -> int:
        self.disk.step("overwrite", "truncate")
        return super().truncate(size)


def operations_of(work: Callable[[], object], root: Path) -> Sequence[Operation]:
    """Return what a piece of work does to the disk below a folder."""
    with watching(Disk(str(root))) as disk:
        work()
    return disk.trace


@contextmanager
def failing(root: Path, plan: Plan) -> Generator[Disk]:
    """Let one operation fail."""
    with watching(Disk(str(root), plan)) as disk:
        yield disk


def plans_for(trace: Sequence[Operation]) -> Iterator[Plan]:
    """Yield every way in which an operation of some work may fail."""
    for number, operation in enumerate(trace, start=1):
        for fault in FAULTS[operation.kind]:
            yield Plan(number, fault)
            if fault == "ENOSPC":
                yield Plan(number, fault, is_lasting=True)


@contextmanager
def watching(disk: Disk) -> Generator[Disk]:
    """Stand before all that reaches files, for as long as the context lasts."""
    with pytest.MonkeyPatch.context() as patch:
        for name, kind in _NAMES.items():
            patch.setattr(os, name, _watched(disk, kind, name, getattr(os, name)))
        patch.setattr(os, "open", _opening(disk, os.open))
        patch.setattr(os, "dup", _doubling(disk, os.dup))
        patch.setattr(os, "close", _closing(disk, os.close))
        patch.setattr(os, "read", _reading(disk, os.read))
        patch.setattr(os, "write", _writing(disk, os.write))
        patch.setattr(os, "fdopen", _file_opening(disk, os.fdopen))
        opening = _file_opening(disk, io.open)
        patch.setattr(io, "open", opening)
        patch.setattr(builtins, "open", opening)
        patch.setattr(fcntl, "flock", _locking(disk, fcntl.flock))
        yield disk


def _watched(
    disk: Disk, kind: Kind, name: str, real: Callable[..., object]
) -> Callable[..., object]:
    def act(*arguments: object, **named: object) -> object:
        folders = [each for key, each in named.items() if key.endswith("dir_fd")] or [None]
        if any(disk.concerns(each, folders[0]) for each in arguments):
            disk.step(kind, name)
        return real(*arguments, **named)

    return act


def _opening_kind(flags: int) -> Kind:
    if flags & _WRITING:
        return "open to write"
    return "look" if flags & _FOLDER else "open to read"


def _opening(disk: Disk, real: Callable[..., int]) -> Callable[..., int]:
    def act(path: object, flags: int, *arguments: object, **named: object) -> int:
        place = disk.place(path, named.get("dir_fd"))
        if place.startswith(disk.root):
            disk.step(_opening_kind(flags), "open")
        descriptor = real(path, flags, *arguments, **named)
        disk.places[descriptor] = place
        return descriptor

    return act


def _doubling(disk: Disk, real: Callable[[int], int]) -> Callable[[int], int]:
    def act(descriptor: int, /) -> int:
        copy = real(descriptor)
        disk.places[copy] = disk.place(descriptor)
        return copy

    return act


def _closing(disk: Disk, real: Callable[[int], None]) -> Callable[[int], None]:
    def act(descriptor: int, /) -> None:
        disk.places.pop(descriptor, None)
        real(descriptor)

    return act


def _reading(disk: Disk, real: Callable[[int, int], bytes]) -> Callable[[int, int], bytes]:
    def act(descriptor: int, count: int, /) -> bytes:
        if disk.concerns(descriptor):
            disk.step("read", "read")
        return real(descriptor, count)

    return act


def _writing(disk: Disk, real: Callable[..., int]) -> Callable[..., int | None]:
    def act(descriptor: int, data: bytes | memoryview, /) -> int | None:
        if disk.concerns(descriptor):
            return disk.put(memoryview(data), lambda part: real(descriptor, part))
        return real(descriptor, data)

    return act


def _locking(disk: Disk, real: Callable[..., None]) -> Callable[..., None]:
    def act(file: int | IO[bytes], operation: int, /) -> None:
        if disk.concerns(file if isinstance(file, int) else file.name):
            disk.step("lock", "flock")
        real(file, operation)

    return act


def _file_opening(disk: Disk, real: Callable[..., IO[bytes] | IO[str]]) -> Callable[..., object]:
    def act(
        file: object, mode: str = "r", buffering: int = -1, *texts: str | None, **named: object
    ) -> object:
        if not disk.concerns(file):
            return real(file, mode, buffering, *texts, **named)
        is_read = set(mode) <= set("rbt")
        if not isinstance(file, int):
            disk.step("open to read" if is_read else "open to write", "open")
        raw = _opened(disk, file, mode, closes=named.get("closefd") is not False)
        if buffering == 0:
            return raw
        buffered = (
            io.BufferedRandom(raw)
            if "+" in mode
            else io.BufferedReader(raw)
            if is_read
            else io.BufferedWriter(raw)
        )
        if "b" in mode:
            return buffered
        given = dict(zip(("encoding", "errors", "newline"), texts, strict=False)) or named
        encoding, errors, newline = (
            cast("str | None", given.get(key)) for key in ("encoding", "errors", "newline")
        )
        return io.TextIOWrapper(buffered, encoding or "utf-8", errors, newline)

    return act


def _opened(disk: Disk, file: object, mode: str, *, closes: bool) -> _Raw:
    raw = _Raw(cast("str", file), mode.replace("b", "").replace("t", ""), closefd=closes)
    raw.disk = disk
    disk.places[raw.fileno()] = disk.place(file)
    return raw


def names_below(folder: Path) -> set[str]:
    """Return the names of all that lies below a folder, but for times in them."""
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    return {_TIME.sub("TIME", name) for name in found}
