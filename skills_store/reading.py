"""Reading files that others put there: regular ones only, never more than was allowed.

A FIFO, a device or a folder of the name is refused and never waited for. Knows no skills.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

_FLAGS: int = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO is opened without waiting for a writer
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)

Stamp = tuple[int, int]
"""When a file or folder was last changed (ns), and its size (bytes)."""


class NoRegularFileError(OSError):
    """There is something of that name which is no regular file."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a file held, and what the system told of it just before."""

    data: bytes
    status: os.stat_result
    is_whole: bool


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp in what the system tells of a file or folder."""
    return (status.st_mtime_ns, status.st_size)


def read_regular(path: Path | str, most_bytes: int, flags: int = 0) -> Content:
    """Return what a file holds, up to a number of bytes.

    Raises:
        NoRegularFileError: it is a folder, a FIFO, a device.
        OSError: it is not there, or may not be read.
    """
    descriptor = os.open(path, _FLAGS | flags)
    with os.fdopen(descriptor, "rb", closefd=True, buffering=0) as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            message = "it is no regular file"
            raise NoRegularFileError(message)
        data = bytearray()
        while len(data) <= most_bytes and (piece := file.read(most_bytes + 1 - len(data))):
            data += piece
    return Content(bytes(data[:most_bytes]), status, len(data) <= most_bytes)


def reason_of(error: OSError) -> str:
    """Say what went wrong in a few words, without the path."""
    return error.strerror or str(error) or type(error).__name__
