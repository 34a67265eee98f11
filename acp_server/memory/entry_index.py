"""Index of entries that we wrote, by digest, to split off text that the user appended.

A user who writes below one of our entries rarely adds the delimiter. A span that begins with a
known entry is split after it; other text is not split.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import cast

from prompt_engine.memory_entries import StoreName, normalize_entry, split_entries
from skills_store.json_file import JsonFile, JsonObject

KnownEntries = Mapping[str, int]
"""SHA-256 (hex) of entries, and the number of characters of each."""

_LINE_END = re.compile(r"[^\S\n]*(?:\n|\Z)")


def digest_of(entry: str) -> str:
    """Return the digest of an entry."""
    return hashlib.sha256(entry.encode()).hexdigest()


def split_known_entries(text: str, known: KnownEntries) -> tuple[str, ...]:
    """Return the entries of a file's text; text appended to a known entry is a separate entry.

    A known entry that is a span of its own is complete and splits no other text.
    """
    spans = split_entries(text)
    digests = [digest_of(span) for span in spans]
    missing = {digest: length for digest, length in known.items() if digest not in digests}
    return tuple(
        entry
        for span, digest in zip(spans, digests, strict=True)
        for entry in ((span,) if digest in known else _split_known(span, missing))
    )


def filter_known(entries: Iterable[str], digests: Iterable[str]) -> KnownEntries:
    """Return the digests of those entries that are among `digests`."""
    allowed = frozenset(digests)
    found = ((digest_of(entry), len(entry)) for entry in entries)
    return {digest: length for digest, length in found if digest in allowed}


def _split_known(span: str, missing: dict[str, int]) -> Iterator[str]:
    """Yield a span, or the missing entries that it begins with and the remaining text.

    An entry that was found is not missing any more, which bounds the time for any file.
    """
    while span and (head := _known_prefix(span, missing)) is not None:
        del missing[digest_of(head)]
        yield head
        span = normalize_entry(span[len(head) :])
    if span:
        yield span


def _known_prefix(span: str, known: KnownEntries) -> str | None:
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
        self._file = JsonFile(file)

    def known(self, name: StoreName) -> KnownEntries:
        """Return the entries of a store that we wrote; ignores invalid content of the file."""
        found = self._file.read().get(name)
        if not isinstance(found, dict):
            return {}
        return {digest: n for digest, n in found.items() if isinstance(n, int) and n > 0}

    def save(self, name: StoreName, known: KnownEntries) -> None:
        """Replace the known entries of a store.

        Raises:
            OSError: the file cannot be written.
        """

        def change(document: JsonObject) -> None:
            document[name] = cast("JsonObject", dict(known))

        self._file.update(change)
