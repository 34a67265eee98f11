"""Reads files of the user or the system as text. Their links may point anywhere.

Not for files of a repository, whose links must stay inside it.
"""

from dataclasses import dataclass
from pathlib import Path

from prompt_engine.decoding import UndecodableError, decode_text
from prompt_engine.sources.file_reading import ReadFailure, ReadFile, read_within, resolve

MAX_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class UserFileText:
    """Text of a file, with its raw bytes (for the trust digest) and its real path."""

    text: str
    raw: bytes
    real_path: Path


def read_user_file(path: Path) -> UserFileText | ReadFailure | None:
    """Return a file's text; a failure if it is unreadable, None if the name does not exist."""
    found = read_within(path, Path(resolve(path).anchor), MAX_BYTES)
    if not isinstance(found, ReadFile):
        return found
    try:
        return UserFileText(decode_text(found.raw), found.raw, found.real_path)
    except UndecodableError as error:
        return ReadFailure("unreadable", error.reason)
