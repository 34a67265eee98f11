"""Safe reads of untrusted files: regular files only, up to a size limit.

FIFOs, devices and directories are rejected without blocking.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

_READ_FLAGS: int = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)  # a FIFO is opened without waiting for a writer
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
_PIECE_BYTES = 64 * 1024

Stamp = tuple[int, int]
"""Modification time (ns) and size (bytes) of a file or directory."""


@dataclass(frozen=True, slots=True)
class RegularFileContent:
    """Content of a file, and its status from just before the read."""

    data: bytes
    status: os.stat_result
    is_complete: bool


def stamp_of(status: os.stat_result) -> Stamp:
    """Return the stamp of a file or directory from its status."""
    return (status.st_mtime_ns, status.st_size)


def read_regular(path: Path | str, max_bytes: int, flags: int = 0) -> RegularFileContent:
    """Read a regular file, up to `max_bytes`.

    Raises:
        OSError: It does not exist, cannot be read, or is a directory, a FIFO or a device.
    """
    descriptor = os.open(path, _READ_FLAGS | flags)
    try:
        # Check the open descriptor, not the path, which could be replaced between check and open.
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            message = "it is no regular file"
            raise OSError(message)
        data = bytearray()
        # Read one byte too many: that tells a file of exactly the limit from a longer one. The size
        # of the status is not enough, as the file may grow.
        while len(data) <= max_bytes and (
            piece := os.read(descriptor, min(_PIECE_BYTES, max_bytes + 1 - len(data)))
        ):
            data += piece
    finally:
        os.close(descriptor)
    return RegularFileContent(bytes(data[:max_bytes]), status, len(data) <= max_bytes)


def reason_of(error: OSError) -> str:
    """Return the reason of an error in a few words, without the path."""
    return error.strerror or str(error) or type(error).__name__
