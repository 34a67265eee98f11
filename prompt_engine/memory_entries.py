r"""The entries of a memory file: how a text falls into them, and how they become a text again.

Pure, and the same for whoever shows the entries and whoever writes them. A line that holds only `§`
stands between two entries. An entry that has such a line itself keeps it behind a backslash, so
that every reader of the file, Hermes too, finds one entry there:

>>> joined(["Uses uv", "Ends a part with\n§\nas Hermes does"])
'Uses uv\n§\nEnds a part with\n\\§\nas Hermes does'
>>> split(_)
('Uses uv', 'Ends a part with\n§\nas Hermes does')

Knows no files, no limits and nobody who wrote an entry.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal

StoreName = Literal["memory", "user"]

FILE_NAMES: Mapping[StoreName, str] = {"memory": "MEMORY.md", "user": "USER.md"}
"""The files of both stores, in the folder `memories` of the home."""

DELIMITER = "\n§\n"

_DELIMITER_LINE = re.compile(r"^§$", re.MULTILINE)
_LIKE_A_DELIMITER = re.compile(r"^(\\*§)$", re.MULTILINE)
_ESCAPED = re.compile(r"^\\(\\*§)$", re.MULTILINE)
_EDGES = re.compile(r"\A[\s\ufeff]+|[\s\ufeff]+\Z")


def normalized(text: str) -> str:
    """Return a text as an entry: lines end with a line feed, and nothing blank is around them."""
    return _EDGES.sub("", _with_line_feeds(text))


def escaped(entry: str) -> str:
    """Return an entry as it stands in a file, a backslash before each line like a delimiter."""
    return _LIKE_A_DELIMITER.sub(r"\\\1", entry)


def joined(entries: Iterable[str]) -> str:
    """Return the text of a file with these entries; limits count its characters."""
    return DELIMITER.join(map(escaped, entries))


def split(text: str) -> tuple[str, ...]:
    r"""Return the entries of a file: what stands between lines that hold only `§`.

    >>> split("Name: Ada\n§\nUses § as a sign\n")
    ('Name: Ada', 'Uses § as a sign')
    """
    parts = map(normalized, _DELIMITER_LINE.split(_with_line_feeds(text)))
    return tuple(_ESCAPED.sub(r"\1", part) for part in parts if part)


def _with_line_feeds(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
