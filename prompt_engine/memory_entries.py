r"""Splits a memory file into entries, and joins entries into a file.

Pure; shared by the code that shows entries and the code that writes them. A line that contains only
`§` separates two entries. Such a line within an entry is escaped with a backslash, so that every
reader of the file, including Hermes, sees one entry:

>>> join_entries(["Uses uv", "Ends a part with\n§\nas Hermes does"])
'Uses uv\n§\nEnds a part with\n\\§\nas Hermes does'
>>> split_entries(_)
('Uses uv', 'Ends a part with\n§\nas Hermes does')

Does no I/O and applies no limits.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

StoreName = Literal["memory", "user"]

FILE_NAMES: Mapping[StoreName, str] = {"memory": "MEMORY.md", "user": "USER.md"}
"""File names of both stores, in the directory `memories` of the home directory."""

DELIMITER = "\n§\n"

_DELIMITER_LINE = re.compile(r"^§$", re.MULTILINE)
_DELIMITER_LIKE_LINE = re.compile(r"^(\\*§)$", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*§)$", re.MULTILINE)
_EDGE_WHITESPACE = re.compile(r"\A[\s\ufeff]+|[\s\ufeff]+\Z")


def normalize_entry(text: str) -> str:
    """Return a text as an entry: line-feed endings, surrounding whitespace removed."""
    return _EDGE_WHITESPACE.sub("", _normalize_newlines(text))


def escape_entry(entry: str) -> str:
    """Return an entry as stored in a file: a backslash before each delimiter-like line."""
    return _DELIMITER_LIKE_LINE.sub(r"\\\1", entry)


def join_entries(entries: Iterable[str]) -> str:
    """Return the text of a file with these entries. Limits count its characters."""
    return DELIMITER.join(map(escape_entry, entries))


def split_entries(text: str) -> tuple[str, ...]:
    r"""Return the entries of a file: the texts between lines that contain only `§`.

    >>> split_entries("Name: Ada\n§\nUses § as a sign\n")
    ('Name: Ada', 'Uses § as a sign')
    """
    parts = map(normalize_entry, _DELIMITER_LINE.split(_normalize_newlines(text)))
    return tuple(_ESCAPED.sub(r"\1", part) for part in parts if part)


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
