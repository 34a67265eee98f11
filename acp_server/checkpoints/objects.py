"""Bytes kept under their own digest, as loose objects of git; needs no git itself. It blocks.

What lies here is never changed. An object that is kept again counts as new: who clears away leaves
new ones alone, for their record may not be written yet.
"""

import hashlib
import os
import secrets
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

from acp_server.checkpoints.errors import LostError

FRESH_SECONDS = 2 * 3600.0
_LEVEL = 1


def name_of(data: bytes) -> str:
    """Return the name of bytes, as git calls a file that holds them."""
    return hashlib.sha1(_with_head(data), usedforsecurity=False).hexdigest()


class ObjectStore:
    """The objects in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, data: bytes) -> str:
        """Keep bytes and return their name.

        Raises:
            OSError: they cannot be kept.
        """
        name = name_of(data)
        path = self._path(name)
        try:
            os.utime(path)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside = path.with_name(f"tmp_obj_{secrets.token_hex(8)}")
            try:
                beside.write_bytes(zlib.compress(_with_head(data), _LEVEL))
                beside.replace(path)
            finally:
                beside.unlink(missing_ok=True)
        return name

    def read(self, name: str) -> bytes:
        """Return the bytes of a name.

        Raises:
            LostError: they are not there, or not what they were.
        """
        try:
            whole = zlib.decompress(self._path(name).read_bytes())
        except (OSError, zlib.error) as error:
            reason = f"what was kept cannot be read: {error}"
            raise LostError(reason) from error
        if hashlib.sha1(whole, usedforsecurity=False).hexdigest() != name:
            reason = "what was kept is damaged"
            raise LostError(reason)
        return whole.partition(b"\0")[2]

    def sizes(self) -> dict[str, int]:
        """Return how many bytes each object takes, by name."""
        return {name: status.st_size for name, status in self._all()}

    def clear(self, kept: Collection[str], now_seconds: float) -> None:
        """Remove all objects but these and fresh ones."""
        for name, status in self._all():
            if name not in kept and now_seconds - status.st_mtime > FRESH_SECONDS:
                self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name[2:]

    def _all(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield objects, and leftovers of writers that were killed."""
        for folder in self._folder.glob("[0-9a-f][0-9a-f]"):
            with os.scandir(folder) as entries:
                for entry in entries:
                    yield folder.name + entry.name, entry.stat(follow_symlinks=False)


def _with_head(data: bytes) -> bytes:
    return b"blob %d\0" % len(data) + data
