"""Searches a text for an old text under one fold. Independent of the strategies; read-only."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from skills_store.patching.folding import BLANKS, PLAIN, Fold, source_columns
from skills_store.patching.indentation import UNCHANGED, Indentation, derive_indentation

MAX_COMPARED_LINES = 200_000
"""Maximum lines compared one by one; beyond that, a search returns no result."""

_EDGE_CHARACTERS = frozenset(" \t\r\n,;:()[]{}\"'`")
"""Characters allowed next to an inexact match: anything else could belong to the matched text."""


class SearchableText:
    """Text that is searched in several ways, with cached derived forms."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded: dict[Fold, str] = {PLAIN: text}
        self._keys: dict[Fold, str] = {}

    @cached_property
    def lines(self) -> list[str]:
        """Lines, without their ends."""
        return self.text.split("\n")

    @cached_property
    def starts(self) -> list[int]:
        """Offset of each line, and of a hypothetical line after the last."""
        return line_starts(self.lines)

    def folded(self, fold: Fold) -> str:
        """Return the folded text."""
        if fold not in self._folded:
            self._folded[fold] = fold(self.text)
        return self._folded[fold]

    def keys(self, fold: Fold) -> str:
        """Return the folded lines without indentation, with a newline before and after each."""
        if fold not in self._keys:
            self._keys[fold] = _line_keys(self.folded(fold))
        return self._keys[fold]


@dataclass(frozen=True, slots=True)
class EditRequest:
    """Old text to find, its replacement, and constraints on the ends of a match."""

    old: str
    new: str
    starts_line: bool = False
    ends_line: bool = False
    takes_newline_before: bool = False
    takes_newline_after: bool = False


@dataclass(frozen=True, slots=True)
class MatchedSpan:
    """Span of the text that matches the old text, line for line."""

    start: int
    end: int
    fold: Fold = PLAIN
    indentation: Indentation = field(default=UNCHANGED)


def find_anywhere(source: SearchableText, request: EditRequest, fold: Fold) -> list[MatchedSpan]:
    """Return the spans where the folded text contains the folded old text, by lines or parts."""
    text = source.text
    needle = fold(request.old)
    ends_line = request.ends_line or (fold is not PLAIN and request.old.endswith(tuple(BLANKS)))
    offsets = _occurrences(
        source.folded(fold), needle, starts_line=request.starts_line, ends_line=ends_line
    )
    if fold is PLAIN:
        return [MatchedSpan(offset, offset + len(needle)) for offset in offsets]
    if not offsets or not needle.strip():
        return []
    spans = _map_spans_back(source, [(offset, offset + len(needle)) for offset in offsets], fold)
    return [
        MatchedSpan(start, end, fold)
        for start, end in spans
        if _has_clean_edges(text, start, end)
        and _are_safe_lines(text[start:end].split("\n"), request.old.split("\n"), fold)
    ]


def find_reindented(source: SearchableText, request: EditRequest, fold: Fold) -> list[MatchedSpan]:
    """Return the spans of complete lines that differ only by one rule of indentation."""
    old_lines = request.old.split("\n")
    if not old_lines[0].strip() or not old_lines[-1].strip():
        return []
    indices = _line_indices(source.keys(fold), _line_keys(fold(request.old)), len(old_lines))
    candidates: list[tuple[int, int, Indentation]] = []
    for index in indices:
        own_lines = source.lines[index : index + len(old_lines)]
        rule = derive_indentation(old_lines, own_lines, request.new.split("\n"))
        if rule is not None and _are_safe_lines(own_lines, old_lines, fold):
            candidates.append((index, len(old_lines), rule))
    return to_spans(source, candidates, fold)


def to_spans(
    source: SearchableText, candidates: Iterable[tuple[int, int, Indentation]], fold: Fold
) -> list[MatchedSpan]:
    """Convert (index of the first line, number of lines, rule) to spans."""
    return [
        MatchedSpan(
            source.starts[index],
            _skip_end_blanks(source.text, source.starts[index + count] - 1),
            fold,
            rule,
        )
        for index, count, rule in candidates
    ]


def line_starts(lines: Iterable[str]) -> list[int]:
    """Return the offset of each line, and of a hypothetical line after the last."""
    return [0, *accumulate(len(line) + 1 for line in lines)]


def line_number(text: str, position: int) -> int:
    """Return the 1-based number of the line at a position."""
    return text.count("\n", 0, position) + 1


def _line_keys(folded: str) -> str:
    return "\n".join(("", *[line.lstrip(" \t") for line in folded.split("\n")], ""))


def _skip_end_blanks(text: str, end: int) -> int:
    while end and text[end - 1] in BLANKS:
        end -= 1
    return end


def _occurrences(haystack: str, needle: str, *, starts_line: bool, ends_line: bool) -> list[int]:
    """Return the non-overlapping offsets of the needle, plus an overlapping second occurrence."""
    prefix, suffix = "\n" * starts_line, "\n" * ends_line
    if prefix or suffix:
        haystack, needle = f"{prefix}{haystack}{suffix}", f"{prefix}{needle}{suffix}"
    if not needle:
        return []
    offsets = list(_find_offsets(haystack, needle, len(needle) - (starts_line and ends_line)))
    # Two overlapping occurrences are ambiguous too, although only one could be replaced.
    if len(offsets) == 1:
        offsets.extend(
            overlap for overlap in (haystack.find(needle, offsets[0] + 1),) if overlap >= 0
        )
    return offsets


def _find_offsets(haystack: str, needle: str, stride: int) -> Iterator[int]:
    offset = haystack.find(needle)
    while offset >= 0:
        yield offset
        offset = haystack.find(needle, offset + stride)


def _line_indices(keys: str, old_keys: str, count: int) -> list[int]:
    """Return the indices at which the old lines occur consecutively; overlaps count.

    Empty if so many lines would have to be compared that it would take too long.
    """
    indices: list[int] = []
    index = position = 0
    for offset in _find_offsets(keys, old_keys, 1):
        index += keys.count("\n", position, offset)
        position = offset
        indices.append(index)
        if len(indices) * count > MAX_COMPARED_LINES:
            return []
    return indices


def _map_spans_back(
    source: SearchableText, spans: Iterable[tuple[int, int]], fold: Fold
) -> Iterator[tuple[int, int]]:
    """Map spans of the folded text, in order, back to the text."""
    lines, starts, folded = source.lines, source.starts, source.folded(fold)
    known: dict[str, Sequence[int] | None] = {}
    index = position = 0
    for start, end in spans:
        index += folded.count("\n", position, start)
        position = start
        last = index + folded.count("\n", start, end)
        own_start = _map_column_back(lines[index], start - _line_start(folded, start), fold, known)
        own_end = _map_column_back(lines[last], end - _line_start(folded, end), fold, known)
        if own_start is not None and own_end is not None:
            yield starts[index] + own_start, starts[last] + own_end


def _line_start(text: str, position: int) -> int:
    return text.rfind("\n", 0, position) + 1


def _map_column_back(
    line: str, column: int, fold: Fold, known: dict[str, Sequence[int] | None]
) -> int | None:
    """Map a column back; `known` caches the column tables by line."""
    if line not in known:
        known[line] = source_columns(line, fold)
    columns = known[line]
    return None if columns is None or columns[column] < 0 else columns[column]


def _has_clean_edges(text: str, start: int, end: int) -> bool:
    """Return whether the characters next to a span cannot belong to the matched text."""
    before = text[start - 1 : start] if start else ""
    after = text[end : end + 2]
    is_open_before = not before or before in _EDGE_CHARACTERS or text[start] in "\n"
    is_open_after = not after or after[0] in _EDGE_CHARACTERS or bool(re.fullmatch(r"\.\s?", after))
    return is_open_before and (is_open_after or text[end - 1] == "\n")


def _are_safe_lines(own_lines: Sequence[str], old: Sequence[str], fold: Fold) -> bool:
    return all(fold.is_safe_match(line, other) for line, other in zip(own_lines, old, strict=True))
