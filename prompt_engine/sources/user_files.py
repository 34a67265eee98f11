"""Reads files of the user or the system as text. Their links may point anywhere.

Not for files of a repository, whose links must stay inside it.
"""

from dataclasses import dataclass
from pathlib import Path

from prompt_engine.decoding import UndecodableError, decode
from prompt_engine.sources.file_reading import ReadFile, Unread, read_within, resolve

MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class OwnText:
    """Text of a file, with its raw bytes (for the trust digest) and its real path."""

    text: str
    raw: bytes
    real_path: Path


def read_own(path: Path) -> OwnText | Unread | None:
    """Return a file's text; a failure if it is unreadable, None if the name does not exist."""
    found = read_within(path, Path(resolve(path).anchor), MOST_BYTES)
    if not isinstance(found, ReadFile):
        return found
    try:
        return OwnText(decode(found.raw), found.raw, found.real_path)
    except UndecodableError as error:
        return Unread("unreadable", error.reason)
