"""Locks between processes: writers of a file hold a lock file next to it."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: no lock; writes are still atomic, and the last one wins
    fcntl = None

TIMEOUT_SECONDS = 5.0
_POLL_SECONDS = 0.01


class LockedError(OSError):
    """Another process holds the lock past the timeout."""


@contextmanager
def locked(path: Path, timeout_seconds: float = TIMEOUT_SECONDS) -> Generator[None]:
    """Hold the lock of a file: `flock` on the same name plus `.lock`. Blocks.

    The directory must exist.

    Raises:
        LockedError: It could not be acquired in time.
        OSError: The lock file cannot be created.
    """
    with path.with_name(f"{path.name}.lock").open("ab") as file:
        deadline_seconds = time.monotonic() + timeout_seconds
        while fcntl is not None:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline_seconds:
                    message = f"{path} is locked by another process"
                    raise LockedError(message) from None
                time.sleep(_POLL_SECONDS)
        yield  # closing the file releases the lock
