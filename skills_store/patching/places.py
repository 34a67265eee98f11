"""Where a wanted text stands in a text, by one fold. Knows no strategies and changes nothing."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from skills_store.patching.folding import BLANKS, PLAIN, Fold, source_columns
from skills_store.patching.indentation import UNCHANGED, Indentation, derive_indentation

MAX_COMPARED_LINES = 200_000
"""How many lines are compared one by one before a search is given up as hopeless."""

_PARTNERS = frozenset(" \t\r\n,;:()[]{}\"'`")
"""What may stand beside a match that is not exact: nothing that would belong to it."""


class Source:
    """A text that is searched in several ways; what they need of it is made once."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded: dict[Fold, str] = {PLAIN: text}
        self._keys: dict[Fold, str] = {}

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Where each line begins, and where one after the last would."""
        return line_starts(self.lines)

    def folded(self, fold: Fold) -> str:
        """Return the folded text."""
        if fold not in self._folded:
            self._folded[fold] = fold(self.text)
        return self._folded[fold]

    def keys(self, fold: Fold) -> str:
        """Return the folded lines without indentation, a newline before and behind each."""
        if fold not in self._keys:
            self._keys[fold] = _keys(self.folded(fold))
        return self._keys[fold]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is looked for and what shall stand there instead, and where its ends must lie."""

    old: str
    new: str
    starts_line: bool = False
    ends_line: bool = False
    takes_newline_before: bool = False
    takes_newline_after: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """A span of the text that reads as the wanted text does, line for line."""

    start: int
    end: int
    fold: Fold = PLAIN
    indentation: Indentation = field(default=UNCHANGED)


def find_anywhere(source: Source, wanted: Wanted, fold: Fold) -> list[Place]:
    """Return the places where the folded text holds the folded wanted text, lines or parts."""
    text = source.text
    needle = fold(wanted.old)
    ends_line = wanted.ends_line or (fold is not PLAIN and wanted.old.endswith(tuple(BLANKS)))
    hits = _occurrences(
        source.folded(fold), needle, starts_line=wanted.starts_line, ends_line=ends_line
    )
    if fold is PLAIN:
        return [Place(hit, hit + len(needle)) for hit in hits]
    if not hits or not needle.strip():
        return []
    spans = _unfolded(source, [(hit, hit + len(needle)) for hit in hits], fold)
    return [
        Place(start, end, fold)
        for start, end in spans
        if _has_clean_edges(text, start, end) and _is_harmless(text[start:end], wanted.old, fold)
    ]


def find_reindented(source: Source, wanted: Wanted, fold: Fold) -> list[Place]:
    """Return the places where whole lines read the same but for one rule of indentation."""
    old_lines = wanted.old.split("\n")
    if not old_lines[0].strip() or not old_lines[-1].strip():
        return []
    indices = _line_indices(source.keys(fold), _keys(fold(wanted.old)), len(old_lines))
    candidates = (_compared(source, index, old_lines, wanted, fold) for index in indices)
    return place_lines(source, candidates, fold)


def place_lines(
    source: Source, candidates: Iterable[tuple[int, int, Indentation] | None], fold: Fold
) -> list[Place]:
    """Turn (index of the first line, number of lines, rule) into places; None is passed over."""
    found = [candidate for candidate in candidates if candidate is not None]
    return [
        Place(
            source.starts[index],
            _visible_end(source.text, source.starts[index + count] - 1),
            fold,
            rule,
        )
        for index, count, rule in found
    ]


def line_starts(lines: Iterable[str]) -> list[int]:
    """Return where each line begins, and where one after the last would."""
    return [0, *accumulate(len(line) + 1 for line in lines)]


def line_number(text: str, position: int) -> int:
    """Return the number of the line at a position, from 1."""
    return text.count("\n", 0, position) + 1


def _compared(
    source: Source, index: int, old_lines: Sequence[str], wanted: Wanted, fold: Fold
) -> tuple[int, int, Indentation] | None:
    own = source.lines[index : index + len(old_lines)]
    rule = derive_indentation(old_lines, own, wanted.new.split("\n"))
    if rule is None or not _are_harmless(own, old_lines, fold):
        return None
    return index, len(old_lines), rule


def _keys(folded: str) -> str:
    return "\n".join(("", *[line.lstrip(" \t") for line in folded.split("\n")], ""))


def _visible_end(text: str, end: int) -> int:
    while end and text[end - 1] in BLANKS:
        end -= 1
    return end


def _occurrences(haystack: str, needle: str, *, starts_line: bool, ends_line: bool) -> list[int]:
    """Return where the needle begins, without overlaps; a lone hit's overlapping twin counts."""
    before, after = "\n" * starts_line, "\n" * ends_line
    if before or after:
        haystack, needle = f"{before}{haystack}{after}", f"{before}{needle}{after}"
    if not needle:
        return []
    hits = list(_hits(haystack, needle, len(needle) - (starts_line and ends_line)))
    if len(hits) == 1:
        hits.extend(twin for twin in (haystack.find(needle, hits[0] + 1),) if twin >= 0)
    return hits


def _hits(haystack: str, needle: str, stride: int) -> Iterator[int]:
    hit = haystack.find(needle)
    while hit >= 0:
        yield hit
        hit = haystack.find(needle, hit + stride)


def _line_indices(keys: str, wanted: str, count: int) -> list[int]:
    """Return where that many wanted lines follow one another; overlaps count.

    None are returned where so many would have to be compared that it would take long.
    """
    indices: list[int] = []
    index = position = 0
    for hit in _hits(keys, wanted, 1):
        index += keys.count("\n", position, hit)
        position = hit
        indices.append(index)
        if len(indices) * count > MAX_COMPARED_LINES:
            return []
    return indices


def _unfolded(
    source: Source, spans: Iterable[tuple[int, int]], fold: Fold
) -> Iterator[tuple[int, int]]:
    """Lead spans of the folded text, in order, back to the text."""
    lines, starts, folded = source.lines, source.starts, source.folded(fold)
    known: dict[str, Sequence[int] | None] = {}
    index = position = 0
    for start, end in spans:
        index += folded.count("\n", position, start)
        position = start
        last = index + folded.count("\n", start, end)
        own_start = _own_column(lines[index], start - _line_start(folded, start), fold, known)
        own_end = _own_column(lines[last], end - _line_start(folded, end), fold, known)
        if own_start is not None and own_end is not None:
            yield starts[index] + own_start, starts[last] + own_end


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _own_column(
    line: str, column: int, fold: Fold, known: dict[str, Sequence[int] | None]
) -> int | None:
    """Lead a column back; what is found out about a line is kept in `known`."""
    if line not in known:
        known[line] = source_columns(line, fold)
    columns = known[line]
    return None if columns is None or columns[column] < 0 else columns[column]


def _has_clean_edges(text: str, start: int, end: int) -> bool:
    """Whether what stands beside a span cannot be a part of what the span says."""
    before = text[start - 1 : start] if start else ""
    after = text[end : end + 2]
    is_open_before = not before or before in _PARTNERS or text[start] in "\n"
    is_open_after = not after or after[0] in _PARTNERS or bool(re.fullmatch(r"\.\s?", after))
    return is_open_before and (is_open_after or text[end - 1] == "\n")


def _is_harmless(region: str, old: str, fold: Fold) -> bool:
    return _are_harmless(region.split("\n"), old.split("\n"), fold)


def _are_harmless(own: Sequence[str], old: Sequence[str], fold: Fold) -> bool:
    return all(fold.is_harmless(line, other) for line, other in zip(own, old, strict=True))
