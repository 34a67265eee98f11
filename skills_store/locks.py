"""Locks between processes: who writes a file holds the lock beside it."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows: writes are whole all the same, and the last one counts
    fcntl = None

PATIENCE_SECONDS = 5.0
_PAUSE_SECONDS = 0.01


class LockedError(OSError):
    """Another process holds the lock and does not give it back."""


@contextmanager
def locked(path: Path, patience_seconds: float = PATIENCE_SECONDS) -> Generator[None]:
    """Hold the lock of a file, which is `flock` on the same name with `.lock` behind it. Blocks.

    The folder must exist.

    Raises:
        LockedError: it was not to be had in time.
        OSError: the lock file cannot be made.
    """
    with path.with_name(f"{path.name}.lock").open("ab") as file:
        _acquire(file, path, time.monotonic() + patience_seconds)
        yield  # closing the file gives the lock back


def _acquire(file: IO[bytes], path: Path, deadline_seconds: float) -> None:
    while fcntl is not None:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline_seconds:
                message = f"{path} is locked by another process"
                raise LockedError(message) from None
            time.sleep(_PAUSE_SECONDS)
        else:
            return
