"""Index of entries that we wrote, by digest, to split off text that the user appended.

A user who writes below one of our entries rarely adds the delimiter. A span that begins with a
known entry is split after it; other text is not split.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from prompt_engine.memory_entries import StoreName, normalized, split
from skills_store.json_file import Document, DocumentFile

Known = Mapping[str, int]
"""SHA-256 (hex) of entries, and the number of characters of each."""

_LINE_END = re.compile(r"[^\S\n]*(?:\n|\Z)")


def digest_of(entry: str) -> str:
    """Return the digest of an entry."""
    return hashlib.sha256(entry.encode()).hexdigest()


def entries_of(text: str, known: Known) -> tuple[str, ...]:
    """Return the entries of a file's text; text appended to a known entry is a separate entry.

    A known entry that is a span of its own is complete and splits no other text.
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
    """Return the digests of those entries that are among `digests`."""
    wanted = frozenset(digests)
    found = ((digest_of(entry), len(entry)) for entry in entries)
    return {digest: length for digest, length in found if digest in wanted}


def _parts(span: str, missing: dict[str, int]) -> Iterator[str]:
    """Yield a span, or the missing entries that it begins with and the remaining text.

    An entry that was found is not missing any more, which bounds the time for any file.
    """
    while span and (head := _known_head(span, missing)) is not None:
        del missing[digest_of(head)]
        yield head
        span = normalized(span[len(head) :])
    if span:
        yield span


def _known_head(span: str, known: Known) -> str | None:
    """Return the longest known entry that a span begins with and that ends at a line end."""
    for digest, length in sorted(known.items(), key=lambda item: item[1], reverse=True):
        if length <= len(span) and _LINE_END.match(span, length):
            head = span[:length]
            if digest_of(head) == digest:
                return head
    return None


class EntryIndex:
    """Digests of both stores, in one file. All calls block.

    A store's digests are changed only under the lock of its memory file.
    """

    def __init__(self, file: Path) -> None:
        self._file = DocumentFile(file)

    def known(self, name: StoreName) -> Known:
        """Return the entries of a store that we wrote; ignores invalid content of the file."""
        found = self._file.read().get(name)
        if not isinstance(found, dict):
            return {}
        return {digest: n for digest, n in found.items() if isinstance(n, int) and n > 0}

    def keep(self, name: StoreName, known: Known) -> None:
        """Replace the known entries of a store.

        Raises:
            OSError: the file cannot be written.
        """

        def change(document: Document) -> None:
            document[name] = cast("Document", dict(known))

        self._file.change(change)
