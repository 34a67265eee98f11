"""Small JSON files shared between processes: cached reads, and read-modify-write under a lock.

Unknown content is preserved. A file that is not a JSON object is renamed to `.broken`.
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
JsonObject: TypeAlias = dict[str, Json]

PRIVATE_MODE = 0o600
_Stamp = tuple[int, int, int, int]


class InvalidJsonFileError(ValueError):
    """The file does not contain a JSON object."""


class JsonFile:
    """One shared JSON file. All calls block."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._cached: tuple[_Stamp, JsonObject] | None = None

    def read(self) -> Mapping[str, Json]:
        """Return the file's content; empty if the file is missing or unreadable (logged)."""
        try:
            # Take the stamp before reading: if the file changes in between, the cached stamp is
            # older than the content and the next call reads again. The other order would cache old
            # content.
            status = self._file.stat()
            stamp = (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)
            if self._cached is None or self._cached[0] != stamp:
                self._cached = (stamp, self._load())
        except FileNotFoundError:
            return {}
        except (OSError, InvalidJsonFileError) as error:
            logger.warning("cannot read %s, continuing as if it were empty: %s", self._file, error)
            return {}
        return self._cached[1]

    def read_strictly(self) -> Mapping[str, Json]:
        """Return the file's content for a decision that must not rely on a failed read.

        Raises:
            OSError: The file exists but cannot be read; treating it as empty would be wrong.
        """
        try:
            return self._load()
        except (FileNotFoundError, InvalidJsonFileError):
            return {}

    def update(self, change: Callable[[JsonObject], object]) -> None:
        """Apply `change` to the current content under the file's lock.

        `change` gets the content as it is on disk now, so writes of other processes are kept.

        Raises:
            OSError: The file cannot be written.
        """
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(self._file):
            # Read from disk, not from the cache: another process may have written before we got the
            # lock.
            try:
                document = self._load()
            except FileNotFoundError:
                document = {}
            except InvalidJsonFileError as error:
                broken_file = self._file.with_name(f"{self._file.name}.broken")
                logger.warning(
                    "%s is not valid and was renamed to %s: %s", self._file, broken_file, error
                )
                self._file.replace(broken_file)
                document = {}
            change(document)
            # ASCII escapes: a path may contain surrogates, which UTF-8 rejects.
            text = json.dumps(document, indent=2)
            write_atomically(self._file, f"{text}\n".encode(), mode=PRIVATE_MODE)

    def remove_key(self, key: str) -> bool:
        """Remove a key and return whether it was there. Writes nothing if it was not.

        Raises:
            OSError: The file cannot be read or written.
        """
        existed = key in self.read_strictly()
        if existed:
            self.update(lambda found: found.pop(key, None))
        return existed

    def _load(self) -> JsonObject:
        try:
            document: object = json.loads(self._file.read_bytes())
        except (ValueError, RecursionError) as error:
            raise InvalidJsonFileError(str(error)) from None
        if not isinstance(document, dict):
            message = "it is no JSON object"
            raise InvalidJsonFileError(message)
        return cast("JsonObject", document)
