"""What tells whether a file has changed since it was read."""

from pathlib import Path
from typing import TypeAlias

FileStamp: TypeAlias = tuple[int, int, int, int]
"""Times of change of content and status (ns), size in bytes, inode."""


def file_stamp(path: Path) -> FileStamp | None:
    """Return the stamp of a file; None if there is none. Blocks."""
    try:
        status = path.stat()
    except OSError:
        return None
    # A program can set mtime back, but not ctime.
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
