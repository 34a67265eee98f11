"""Temporary directory of one session, the only one that its confined commands may write."""

import shutil
import tempfile
from pathlib import Path
from threading import Lock

_SHORT_PARENT = Path("/tmp")  # noqa: S108  its entry is created exclusively, for this user alone
"""Preferred: addresses of sockets end at 104 bytes, and the usual place on macOS has 49 already."""


class SessionDirectory:
    """Creates the directory for the first command, and removes it with all that is in it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._path: Path | None = None

    def path(self) -> Path:
        """Return the directory, symlinks resolved. Blocks."""
        with self._lock:
            # It may have been deleted by the system's cleaning.
            if self._path is None or not self._path.is_dir():
                parent = _SHORT_PARENT if _SHORT_PARENT.is_dir() else None
                self._path = Path(tempfile.mkdtemp(prefix="acp-", dir=parent)).resolve()
            return self._path

    def remove(self) -> None:
        """Remove the directory if it was created. Blocks."""
        with self._lock:
            if self._path is not None:
                shutil.rmtree(self._path, ignore_errors=True)
                self._path = None
