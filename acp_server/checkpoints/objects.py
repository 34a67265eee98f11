"""Content-addressed store of file contents, as loose git objects; needs no git itself. Blocks.

Objects are never changed. Storing an object again makes it count as new; pruning spares new
objects, because their record may not be written yet.
"""

import hashlib
import os
import secrets
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path

from acp_server.checkpoints.errors import CheckpointReadError

GRACE_SECONDS = 2 * 3600.0
_LEVEL = 1


def object_name(data: bytes) -> str:
    """Return the object name of content, as git computes it for a file."""
    return hashlib.sha1(_with_header(data), usedforsecurity=False).hexdigest()


class ObjectStore:
    """The objects in a directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def write(self, data: bytes) -> str:
        """Store content and return its name.

        Raises:
            OSError: it cannot be stored.
        """
        name = object_name(data)
        path = self._path(name)
        try:
            # Marks the object as new, so that another server's pruning spares it.
            os.utime(path)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            # Write and rename: a reader or a crash never sees a partial object.
            temporary = path.with_name(f"tmp_obj_{secrets.token_hex(8)}")
            try:
                temporary.write_bytes(zlib.compress(_with_header(data), _LEVEL))
                temporary.replace(path)
            finally:
                temporary.unlink(missing_ok=True)
        return name

    def has(self, name: str) -> bool:
        """Return whether content is stored."""
        return self._path(name).exists()

    def read(self, name: str) -> bytes:
        """Return the content of a name.

        Raises:
            CheckpointReadError: it is missing or damaged.
        """
        try:
            data = zlib.decompress(self._path(name).read_bytes())
        except (OSError, zlib.error) as error:
            reason = f"the stored content cannot be read: {error}"
            raise CheckpointReadError(reason) from error
        if hashlib.sha1(data, usedforsecurity=False).hexdigest() != name:
            reason = "the stored content is damaged"
            raise CheckpointReadError(reason)
        return data.partition(b"\0")[2]

    def sizes(self) -> dict[str, int]:
        """Return the stored size of each object in bytes, by name."""
        return {name: status.st_size for name, status in self._all()}

    def prune(self, kept: Collection[str], now_seconds: float) -> None:
        """Delete all objects except these and new ones."""
        for name, status in self._all():
            if name not in kept and now_seconds - status.st_mtime > GRACE_SECONDS:
                self._path(name).unlink(missing_ok=True)

    def _path(self, name: str) -> Path:
        return self._folder / name[:2] / name[2:]

    def _all(self) -> Iterator[tuple[str, os.stat_result]]:
        """Yield objects, and temporary files of writers that were killed."""
        for folder in self._folder.glob("[0-9a-f][0-9a-f]"):
            with os.scandir(folder) as entries:
                for entry in entries:
                    yield folder.name + entry.name, entry.stat(follow_symlinks=False)


def _with_header(data: bytes) -> bytes:
    return b"blob %d\0" % len(data) + data
