"""Fault injection for file operations: the n-th operation of some work fails as planned.

    trace = trace_operations(work, root)  # the file operations below a directory
    with fail_operation(root, FaultPlan(3, "write", ENOSPC)):  # makes the third one fail
        work()

Every way in which our Python code reaches files is intercepted: the functions of `os`, `open`, the
reads and writes through it, and `flock`. Only operations below the directory count. SQLite and
other programs bypass these functions and are not covered.
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
DiskFault = Literal["ENOSPC", "EIO", "EACCES", "short write", "short write, then ENOSPC"]

FAULTS: dict[Kind, tuple[DiskFault, ...]] = {
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
"""Possible faults by kind of operation."""

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
_NEEDS_SPACE = ("write", "open to write", "make")
"""Operations that keep failing on a full disk; overwriting existing bytes needs no space."""
_TIME = re.compile(r"\d{15,}|\d{8}T\d+(-[0-9a-f]{6})?")
_FOLDER: int = getattr(os, "O_PATH", 0) | getattr(os, "O_DIRECTORY", 0)
_WRITING: int = os.O_WRONLY | os.O_RDWR | os.O_CREAT


@dataclass(frozen=True, slots=True)
class Operation:
    """One file operation."""

    kind: Kind
    name: str
    """Name of the function."""


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """Which operation fails, counted from 1, and how."""

    number: int
    fault: DiskFault
    is_permanent: bool = False
    """Whether the disk stays full after the fault."""


@dataclass(slots=True)
class FaultyDisk:
    """Counts operations, and makes one of them fail as planned."""

    root: str
    plan: FaultPlan | None = None
    trace: list[Operation] = field(default_factory=list[Operation])
    descriptor_paths: dict[int, str] = field(default_factory=dict[int, str])
    """Paths of the descriptors opened so far."""
    is_full: bool = False

    def resolve(self, name: object, folder: object = None) -> str:
        """Return the path of an argument, relative to an open directory if one is given."""
        if isinstance(name, int):
            return self.descriptor_paths.get(name, "")
        if not isinstance(name, str | os.PathLike):
            return ""
        return os.path.join(self.resolve(folder), os.fspath(cast("str", name)))  # noqa: PTH118

    def is_inside(self, name: object, folder: object = None) -> bool:
        """Return whether an argument refers to a path below the root."""
        return self.resolve(name, folder).startswith(self.root)

    def count_operation(self, kind: Kind, name: str) -> DiskFault | None:
        """Count an operation; return the kind of short write if one is due.

        Raises:
            OSError: the operation fails as planned.
        """
        self.trace.append(Operation(kind, name))
        if self.is_full and kind in _NEEDS_SPACE:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        plan = self.plan
        if plan is None or len(self.trace) != plan.number:
            return None
        if plan.fault in {"short write", "short write, then ENOSPC"}:
            return plan.fault
        self.is_full = plan.is_permanent  # later operations fail too, not just this one
        code = getattr(errno, plan.fault)
        raise OSError(code, os.strerror(code))

    def write(
        self, data: memoryview, write: Callable[[memoryview], int | None], *, grows: bool = True
    ) -> int | None:
        """Write bytes, possibly not all; `grows` says whether the file becomes longer."""
        short = self.count_operation("write" if grows else "overwrite", "write")
        if short is None:
            return write(data)
        written = write(data[: max(1, len(data) // 2)])
        # the caller retries with the rest, which then meets the full disk
        self.is_full = short == "short write, then ENOSPC"
        return written


class _FaultyFile(io.FileIO):
    """Raw file whose operations go through a `FaultyDisk`."""

    disk: FaultyDisk

    def readinto(self, buffer: "WriteableBuffer", /) -> int | None:
        self.disk.count_operation("read", "readinto")
        return super().readinto(buffer)

    def readall(self) -> bytes:
        self.disk.count_operation("read", "readall")
        return super().readall()

    def write(self, data: "ReadableBuffer", /) -> int:
        view = memoryview(data)
        grows = self.tell() + len(view) > os.fstat(self.fileno()).st_size
        return self.disk.write(view, super().write, grows=grows) or 0

    def truncate(self, size: int | None = None, /) -> int:
        self.disk.count_operation("overwrite", "truncate")
        return super().truncate(size)


def trace_operations(work: Callable[[], object], root: Path) -> Sequence[Operation]:
    """Return the file operations of some work below a directory."""
    with intercept_files(FaultyDisk(str(root))) as disk:
        work()
    return disk.trace


@contextmanager
def fail_operation(root: Path, plan: FaultPlan) -> Generator[FaultyDisk]:
    """Make one operation fail while the context lasts."""
    with intercept_files(FaultyDisk(str(root), plan)) as disk:
        yield disk


def plans_for(trace: Sequence[Operation]) -> Iterator[FaultPlan]:
    """Yield every possible single fault of the traced work."""
    for number, operation in enumerate(trace, start=1):
        for fault in FAULTS[operation.kind]:
            yield FaultPlan(number, fault)
            if fault == "ENOSPC":
                yield FaultPlan(number, fault, is_permanent=True)


@contextmanager
def intercept_files(disk: FaultyDisk) -> Generator[FaultyDisk]:
    """Intercept all file functions while the context lasts."""
    with pytest.MonkeyPatch.context() as patch:
        for name, kind in _NAMES.items():
            patch.setattr(os, name, _wrap_call(disk, kind, name, getattr(os, name)))
        patch.setattr(os, "open", _wrap_open(disk, os.open))
        patch.setattr(os, "dup", _wrap_dup(disk, os.dup))
        patch.setattr(os, "close", _wrap_close(disk, os.close))
        patch.setattr(os, "read", _wrap_read(disk, os.read))
        patch.setattr(os, "write", _wrap_write(disk, os.write))
        patch.setattr(os, "fdopen", _wrap_builtin_open(disk, os.fdopen))
        opening = _wrap_builtin_open(disk, io.open)
        patch.setattr(io, "open", opening)
        patch.setattr(builtins, "open", opening)
        patch.setattr(fcntl, "flock", _wrap_flock(disk, fcntl.flock))
        yield disk


def _wrap_call(
    disk: FaultyDisk, kind: Kind, name: str, real: Callable[..., object]
) -> Callable[..., object]:
    def act(*arguments: object, **named: object) -> object:
        folders = [each for key, each in named.items() if key.endswith("dir_fd")] or [None]
        if any(disk.is_inside(each, folders[0]) for each in arguments):
            disk.count_operation(kind, name)
        return real(*arguments, **named)

    return act


def _opening_kind(flags: int) -> Kind:
    if flags & _WRITING:
        return "open to write"
    return "look" if flags & _FOLDER else "open to read"


def _wrap_open(disk: FaultyDisk, real: Callable[..., int]) -> Callable[..., int]:
    def act(path: object, flags: int, *arguments: object, **named: object) -> int:
        resolved = disk.resolve(path, named.get("dir_fd"))
        if resolved.startswith(disk.root):
            disk.count_operation(_opening_kind(flags), "open")
        descriptor = real(path, flags, *arguments, **named)
        disk.descriptor_paths[descriptor] = resolved
        return descriptor

    return act


def _wrap_dup(disk: FaultyDisk, real: Callable[[int], int]) -> Callable[[int], int]:
    def act(descriptor: int, /) -> int:
        copy = real(descriptor)
        disk.descriptor_paths[copy] = disk.resolve(descriptor)
        return copy

    return act


def _wrap_close(disk: FaultyDisk, real: Callable[[int], None]) -> Callable[[int], None]:
    def act(descriptor: int, /) -> None:
        disk.descriptor_paths.pop(descriptor, None)
        real(descriptor)

    return act


def _wrap_read(disk: FaultyDisk, real: Callable[[int, int], bytes]) -> Callable[[int, int], bytes]:
    def act(descriptor: int, count: int, /) -> bytes:
        if disk.is_inside(descriptor):
            disk.count_operation("read", "read")
        return real(descriptor, count)

    return act


def _wrap_write(disk: FaultyDisk, real: Callable[..., int]) -> Callable[..., int | None]:
    def act(descriptor: int, data: bytes | memoryview, /) -> int | None:
        if disk.is_inside(descriptor):
            return disk.write(memoryview(data), lambda part: real(descriptor, part))
        return real(descriptor, data)

    return act


def _wrap_flock(disk: FaultyDisk, real: Callable[..., None]) -> Callable[..., None]:
    def act(file: int | IO[bytes], operation: int, /) -> None:
        if disk.is_inside(file if isinstance(file, int) else file.name):
            disk.count_operation("lock", "flock")
        real(file, operation)

    return act


def _wrap_builtin_open(
    disk: FaultyDisk, real: Callable[..., IO[bytes] | IO[str]]
) -> Callable[..., object]:
    def act(
        file: object, mode: str = "r", buffering: int = -1, *texts: str | None, **named: object
    ) -> object:
        if not disk.is_inside(file):
            return real(file, mode, buffering, *texts, **named)
        is_read = set(mode) <= set("rbt")
        if not isinstance(file, int):
            disk.count_operation("open to read" if is_read else "open to write", "open")
        raw = _open_faulty(disk, file, mode, closes=named.get("closefd") is not False)
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
        text_options = dict(zip(("encoding", "errors", "newline"), texts, strict=False)) or named
        encoding, errors, newline = (
            cast("str | None", text_options.get(key)) for key in ("encoding", "errors", "newline")
        )
        return io.TextIOWrapper(buffered, encoding or "utf-8", errors, newline)

    return act


def _open_faulty(disk: FaultyDisk, file: object, mode: str, *, closes: bool) -> _FaultyFile:
    raw = _FaultyFile(cast("str", file), mode.replace("b", "").replace("t", ""), closefd=closes)
    raw.disk = disk
    disk.descriptor_paths[raw.fileno()] = disk.resolve(file)
    return raw


def names_under(folder: Path) -> set[str]:
    """Return all names below a directory, with timestamps removed."""
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
    return {_TIME.sub("TIME", name) for name in found}
