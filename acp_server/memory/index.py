"""Which entries we wrote, by their digests, and where they end in what a person added to.

A person who writes on below an entry of ours rarely thinks of the delimiter. What begins with an
entry that is known falls in two there; of what is not known, nobody can say where it parts.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from prompt_engine.memory_entries import StoreName, normalized, split
from skills_store.documents import Document, DocumentFile

Known = Mapping[str, int]
"""The SHA-256 (hex) of entries, and how many characters each has."""

_LINE_END = re.compile(r"[^\S\n]*(?:\n|\Z)")


def digest_of(entry: str) -> str:
    """Return what an entry is known by."""
    return hashlib.sha256(entry.encode()).hexdigest()


def entries_of(text: str, known: Known) -> tuple[str, ...]:
    """Return the entries of a file's text; what was added below a known one is one of its own.

    A known entry that stands by itself is whole, and no other text is held against it.
    """
    spans = split(text)
    digests = [digest_of(span) for span in spans]
    missing = {digest: length for digest, length in known.items() if digest not in digests}
    return tuple(
        entry
        for span, digest in zip(spans, digests, strict=True)
        for entry in ((span,) if digest in known else _parts(span, missing))
    )


def known_of(entries: Iterable[str], digests: Iterable[str]) -> Known:
    """Return those of the entries whose digests are known."""
    wanted = frozenset(digests)
    found = ((digest_of(entry), len(entry)) for entry in entries)
    return {digest: length for digest, length in found if digest in wanted}


def _parts(span: str, missing: dict[str, int]) -> Iterator[str]:
    """Yield a span, or the missing entries that it begins with and what is left of it then.

    What is found is missing no more: so no file takes long, whatever it holds.
    """
    while span and (head := _known_head(span, missing)) is not None:
        del missing[digest_of(head)]
        yield head
        span = normalized(span[len(head) :])
    if span:
        yield span


def _known_head(span: str, known: Known) -> str | None:
    """Return the longest known entry that a span begins with, and that ends with a line."""
    for digest, length in sorted(known.items(), key=lambda item: item[1], reverse=True):
        if length <= len(span) and _LINE_END.match(span, length):
            head = span[:length]
            if digest_of(head) == digest:
                return head
    return None


class EntryIndex:
    """The digests of both stores, in one file. All calls block.

    A store's digests are changed under the lock of its memory file only.
    """

    def __init__(self, file: Path) -> None:
        self._file = DocumentFile(file)

    def known(self, name: StoreName) -> Known:
        """Return the entries of a store that we wrote; what the file has besides is passed over."""
        found = self._file.read().get(name)
        if not isinstance(found, dict):
            return {}
        return {digest: n for digest, n in found.items() if isinstance(n, int) and n > 0}

    def keep(self, name: StoreName, known: Known) -> None:
        """Let these be the known ones of a store.

        Raises:
            OSError: it cannot be written.
        """

        def change(document: Document) -> None:
            document[name] = cast("Document", dict(known))

        self._file.change(change)
