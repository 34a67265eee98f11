"""The pattern tables as one file, with what a text must contain for a wording to match it.

Reading the tables and compiling their patterns takes a tenth of a second, and most texts can match
few of them. `stored_tables.json` has, for each wording, sets of short byte sequences: whatever the
wording matches contains one sequence of each set. So the other wordings need not be compiled for a
short text. `tests/prompt_engine/threats/stored_tables_file.py` makes the file; one that was made
from other tables is not used, and then all wordings are compiled.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TypedDict, cast

FILE = Path(__file__).with_name("stored_tables.json")
FAMILIES = Path(__file__).with_name("families")
SEQUENCE_LENGTHS = (3, 4, 5)
"""Lengths of the sequences, in bytes."""

Required = Sequence[int]
"""The sets that a wording needs, by their number in the file."""


class _File(TypedDict):
    tables: dict[str, str]
    """The digests of the tables and vocabularies that it was made from."""
    documents: dict[str, object]
    """Their content, by name."""
    required: dict[str, dict[str, list[list[int]]]]
    """By table and pattern: the sets that each wording needs."""
    only_ascii: dict[str, list[bool]]
    """By table: whether the wordings of each group name ASCII characters only."""
    sets: list[str]
    """Byte sequences, as Latin-1 characters and separated by NUL."""


@dataclass(frozen=True, slots=True)
class StoredTables:
    """The content of the file."""

    documents: Mapping[str, object]
    only_ascii: Mapping[str, Sequence[bool]]
    _required: Mapping[str, Mapping[str, Sequence[Required]]]
    _sets: Sequence[str]

    def required(self, table: str, pattern: str) -> Sequence[Required]:
        """Return the sets that each wording of a pattern needs."""
        return self._required[table][pattern]

    def sequences(self, number: int) -> frozenset[str]:
        """Return the sequences of a set."""
        return frozenset(self._sets[number].split("\0"))


class TextSequences:
    """The byte sequences of a short text."""

    def __init__(self, text: bytes, stored: StoredTables) -> None:
        self._stored = stored
        characters = text.decode("latin-1")
        self._found = {
            characters[start : start + length]
            for length in SEQUENCE_LENGTHS
            for start in range(len(characters) - length + 1)
        }
        self._known: dict[int, bool] = {}

    def has_all(self, required: Required) -> bool:
        """Return whether the text has a sequence of each of these sets."""
        return all(self._has(number) for number in required)

    def _has(self, number: int) -> bool:
        known = self._known.get(number)
        if known is None:
            sequences = self._stored.sequences(number)
            known = self._known[number] = not sequences.isdisjoint(self._found)
        return known


def digest_of(table: str) -> str:
    """Return the digest of a table or vocabulary as it is now."""
    # Not `importlib.util.source_hash`, whose result depends on the version of Python.
    return blake2b((FAMILIES / f"{table}.toml").read_bytes(), digest_size=8).hexdigest()


@cache
def stored_tables() -> StoredTables | None:
    """Return the content of the file; None if it cannot be read or was made from other tables."""
    try:
        file = cast("_File", json.loads(FILE.read_text("utf-8")))
        if any(digest_of(name) != digest for name, digest in file["tables"].items()):
            return None
        return StoredTables(
            file["documents"], file["only_ascii"], file["required"], tuple(file["sets"])
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
