"""Undo history of the memory files: their content before our last writes.

One file per write, with the previous bytes. Its name contains the order, the store, and a
fingerprint of the written content, so that nothing is undone that was changed since.
"""

import hashlib
import re
import time
from pathlib import Path

from acp_server.memory.files import create_private_directory
from acp_server.startup.fast_dataclass import frozen_dataclass
from prompt_engine.memory_entries import StoreName
from skills_store.atomic import write_atomically

MAX_ENTRIES = 20
"""How many writes of each store can be undone, the newest ones."""

_PRIVATE = 0o600
_NAME = re.compile(r"(\d{20})-(memory|user)-([0-9a-f]{16})\.md")


@frozen_dataclass
class UndoEntry:
    """Content of a file before a write."""

    path: Path
    """Where the content is stored."""
    number: int
    """Increases with each write of a store; based on the clock, so it also orders stores."""
    written_fingerprint: str
    """Fingerprint of the content that the write produced."""


def fingerprint(raw: bytes) -> str:
    """Return a short digest of a file's bytes."""
    return hashlib.sha256(raw).hexdigest()[:16]


class MemoryUndoHistory:
    """Directory of the undo history. All calls block; changes need the lock of the memory file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, name: StoreName, before: bytes, after: bytes) -> UndoEntry:
        """Store the content of a file before it is written; delete the oldest entry.

        Raises:
            OSError: it cannot be stored.
        """
        create_private_directory(self._folder)
        previous = self.entries(name)
        # The clock may have been set back; the numbers must keep the order of the writes.
        number = max(time.time_ns(), previous[-1].number + 1 if previous else 0)
        path = self._folder / f"{number:020d}-{name}-{fingerprint(after)}.md"
        write_atomically(path, before, mode=_PRIVATE)
        # Leaves MAX_ENTRIES - 1 old entries and the new one.
        for entry in previous[: 1 - MAX_ENTRIES]:
            self.delete(entry)
        return UndoEntry(path, number, fingerprint(after))

    def entries(self, name: StoreName) -> list[UndoEntry]:
        """Return the stored contents of a store, the oldest first."""
        try:
            names = sorted(path.name for path in self._folder.iterdir())
        except OSError:
            return []
        found = filter(None, map(_NAME.fullmatch, names))
        return [
            UndoEntry(self._folder / each[0], int(each[1]), each[3])
            for each in found
            if each[2] == name
        ]

    def delete(self, entry: UndoEntry) -> None:
        """Delete a stored content."""
        entry.path.unlink(missing_ok=True)
