"""Files of the user or the system, whose links may lead anywhere: read as text, faults told.

Not for files of a repository, which must not lead out of it.
"""

from dataclasses import dataclass
from pathlib import Path

from prompt_engine.decoding import UndecodableError, decode
from prompt_engine.sources.reading import ReadFile, Unread, read_within, resolve

MOST_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class OwnText:
    """A file's text, with the bytes that trust goes by and the path they lie at."""

    text: str
    raw: bytes
    real_path: Path


def read_own(path: Path) -> OwnText | Unread | None:
    """Return a file's text; a fault if it cannot be had, None if there is nothing of that name."""
    found = read_within(path, Path(resolve(path).anchor), MOST_BYTES)
    if not isinstance(found, ReadFile):
        return found
    try:
        return OwnText(decode(found.raw), found.raw, found.real_path)
    except UndecodableError as error:
        return Unread("unreadable", error.reason)
