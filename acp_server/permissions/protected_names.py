"""File names that always require permission, wherever they are: secrets and settings. Pure.

One table of patterns for named paths and for searches. Knows names only; symlinks and ignore files
are checked elsewhere.
"""

import re
import unicodedata
from fnmatch import translate
from pathlib import Path

from acp_server.permissions.word_lists import read_word_lists

_PATTERNS = read_word_lists(__file__)

SEARCH_GLOBS = (*_PATTERNS["folders"], *_PATTERNS["files"])
"""Patterns that a search leaves out, ignoring case: rather too much than too little."""

_FOLDER = re.compile("|".join(map(translate, _PATTERNS["folders"])))
_FILE = re.compile("|".join(map(translate, SEARCH_GLOBS)))
_HARMLESS = re.compile(r"\.env[.\-_](?:example|sample|template|dist)|id_[a-z0-9_.-]+\.pub")
_INVISIBLE = re.compile(
    "[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]"
)  # ignored by some systems


def is_protected(path: Path) -> bool:
    """Return whether a path, by its names alone, is that of a secret or of a tool's settings."""
    parts = path.parts
    return any(map(is_protected_directory, parts)) or bool(parts and is_protected_file(parts[-1]))


def is_protected_directory(name: str) -> bool:
    """Return whether a directory of this name protects all its content; a file of it is, too."""
    normalized = normalize_name(name)
    return bool(_FOLDER.match(normalized)) and not _HARMLESS.fullmatch(normalized)


def is_protected_file(name: str) -> bool:
    """Return whether a file of this name is protected, wherever it is."""
    normalized = normalize_name(name)
    return bool(_FILE.match(normalized)) and not _HARMLESS.fullmatch(normalized)


def normalize_name(name: str) -> str:
    """Return the common form of all spellings that some system treats as the same name."""
    if not name.isascii():
        # Security: `.e\u200bnv` and full-width letters are the same file on some file systems.
        name = _INVISIBLE.sub("", unicodedata.normalize("NFKC", name))
    # Windows and macOS ignore case; Windows drops trailing dots and spaces.
    return name.casefold().rstrip(". ")
