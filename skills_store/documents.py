"""A small JSON file that several processes share: read when it changed, written under its lock.

What it holds and nobody understands is kept as it is; a file that is no JSON object is put aside.
"""

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias, cast

from skills_store.atomic import write_atomically
from skills_store.locks import locked

logger = logging.getLogger(__name__)

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Document: TypeAlias = dict[str, Json]

PRIVATE = 0o600
_Stamp = tuple[int, int, int, int]


class BrokenFileError(ValueError):
    """The file holds no JSON object."""


class DocumentFile:
    """The file. All calls block."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: tuple[_Stamp, Document] | None = None

    def read(self) -> Mapping[str, Json]:
        """Return what the file holds; nothing when it is not there or cannot be understood."""
        try:
            stamp = self._stamp()
            if self._known is None or self._known[0] != stamp:
                self._known = (stamp, self._parsed())
        except FileNotFoundError:
            return {}
        except (OSError, BrokenFileError) as error:
            logger.warning("%s cannot be read, and counts as empty: %s", self._file, error)
            return {}
        return self._known[1]

    def read_strictly(self) -> Mapping[str, Json]:
        """Return what the file holds, for somebody whose work builds on it.

        Raises:
            OSError: it cannot be read, which is not the same as that it is empty.
        """
        try:
            return self._parsed()
        except (FileNotFoundError, BrokenFileError):
            return {}

    def change(self, change: Callable[[Document], None]) -> None:
        """Change what the file holds, under its lock, with what others wrote meanwhile in it.

        Raises:
            OSError: it cannot be written.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self._file):
            document = self._document_to_change()
            change(document)
            text = json.dumps(document, indent=2)  # ASCII: a path may hold what is no text
            write_atomically(self._file, f"{text}\n".encode(), mode=PRIVATE)

    def drop(self, key: str) -> bool:
        """Take a key out; return whether it was there. Where it is not, nothing is written.

        Raises:
            OSError: the file cannot be read or written.
        """
        is_there = key in self.read_strictly()
        if is_there:
            self.change(lambda found: _drop(found, key))
        return is_there

    def _document_to_change(self) -> Document:
        try:
            return self._parsed()
        except FileNotFoundError:
            return {}
        except BrokenFileError as error:
            aside = self._file.with_name(f"{self._file.name}.broken")
            logger.warning("%s is put aside as %s: %s", self._file, aside, error)
            self._file.replace(aside)
            return {}

    def _stamp(self) -> _Stamp:
        status = self._file.stat()
        return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)

    def _parsed(self) -> Document:
        try:
            document: object = json.loads(self._file.read_bytes())
        except (ValueError, RecursionError) as error:
            raise BrokenFileError(str(error)) from None
        if not isinstance(document, dict):
            message = "it is no JSON object"
            raise BrokenFileError(message)
        return cast("Document", document)


def _drop(document: Document, key: str) -> None:
    document.pop(key, None)
