"""What memory files held before our last writes, so that each write can be taken back.

A file for each write, with the bytes of before. Its name tells the order, the store, and what the
write left, so that nothing is taken back that somebody else has changed since.
"""

import hashlib
import re
import time
from pathlib import Path

from acp_server.frozen import frozen
from acp_server.memory.files import make_private
from prompt_engine.memory_entries import StoreName
from skills_store.atomic import write_atomically

MOST_KEPT = 20
"""Writes of each store that can be taken back, the newest ones."""

_PRIVATE = 0o600
_NAME = re.compile(r"(\d{20})-(memory|user)-([0-9a-f]{16})\.md")


@frozen
class Former:
    """What a file held before a write."""

    path: Path
    """Where it is kept."""
    number: int
    """Grows with each write of a store; between stores it goes by the clock."""
    left: str
    """The fingerprint of what the write left."""


def fingerprint(raw: bytes) -> str:
    """Return what the bytes of a file are told by."""
    return hashlib.sha256(raw).hexdigest()[:16]


class UndoFolder:
    """The folder. All calls block; those that change it need the lock of the memory file."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, name: StoreName, before: bytes, after: bytes) -> Former:
        """Keep what a file holds before it is written; forget the oldest.

        Raises:
            OSError: it cannot be kept.
        """
        make_private(self._folder)
        kept = self.all(name)
        number = max(time.time_ns(), kept[-1].number + 1 if kept else 0)
        path = self._folder / f"{number:020d}-{name}-{fingerprint(after)}.md"
        write_atomically(path, before, mode=_PRIVATE)
        for former in kept[: 1 - MOST_KEPT]:
            self.forget(former)
        return Former(path, number, fingerprint(after))

    def all(self, name: StoreName) -> list[Former]:
        """Return what is kept of a store, the oldest first."""
        try:
            names = sorted(path.name for path in self._folder.iterdir())
        except OSError:
            return []
        found = filter(None, map(_NAME.fullmatch, names))
        return [
            Former(self._folder / each[0], int(each[1]), each[3])
            for each in found
            if each[2] == name
        ]

    def forget(self, former: Former) -> None:
        """Keep this no longer."""
        former.path.unlink(missing_ok=True)
