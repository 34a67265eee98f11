"""Finds the region to show if a text was not found: the most similar one, in linear time."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import accumulate

from skills_store.patching.errors import NearestText
from skills_store.patching.text_search import line_number

MAX_SHOWN_LINES = 8
MAX_SHOWN_CHARACTERS = 200
MAX_REPEATS = 20
"""A line that occurs more often is no evidence for a position."""

MIN_SHARED_WORDS = 0.4
_LINES_BEFORE = 2
_WORD = re.compile(r"\w{2,}")
_PAIR = re.compile(r"\w\w")


def find_nearest(text: str, old: str) -> NearestText | None:
    """Return the region most similar to the old text, around its first difference, or None."""
    lines = text.split("\n")
    old_lines = old.strip("\n").split("\n")
    start = _start_by_equal_lines(lines, old_lines)
    if start is None:
        start = _start_by_shared_words(lines, old_lines)
    if start is None:
        return None
    end = min(len(lines), start + len(old_lines))
    pairs = zip(lines[start:end], old_lines, strict=False)
    differing = (index for index, (own_line, line) in enumerate(pairs) if own_line != line)
    first = start + max(0, next(differing, 0) - _LINES_BEFORE)
    shown = lines[first : min(end, first + MAX_SHOWN_LINES)] or lines[first : first + 1]
    return NearestText(first + 1, tuple(line[:MAX_SHOWN_CHARACTERS] for line in shown))


def find_applied(text: str, new: str) -> int | None:
    """Return the line where the new text starts; None if it is blank or does not occur."""
    needle = new.strip("\n")
    if not needle.strip():
        return None
    start = text.find(needle)
    while start >= 0:
        end = start + len(needle)
        if not (
            _are_one_word(text[start - 1 : start + 1]) or _are_one_word(text[end - 1 : end + 1])
        ):
            return line_number(text, start)
        start = text.find(needle, end)
    return None


def _are_one_word(pair: str) -> bool:
    return _PAIR.fullmatch(pair) is not None


def _start_by_equal_lines(lines: Sequence[str], old_lines: Sequence[str]) -> int | None:
    """Let each occurrence of an old line vote for the implied start of the first line."""
    old_offsets: defaultdict[str, list[int]] = defaultdict(list)
    for offset, line in enumerate(old_lines):
        if _WORD.search(line):
            old_offsets[line.strip()].append(offset)
    found: defaultdict[str, list[int]] = defaultdict(list)
    for index, line in enumerate(lines):
        stripped = line.strip()
        if stripped in old_offsets and len(found[stripped]) <= MAX_REPEATS:
            found[stripped].append(index)
    votes: Counter[int] = Counter()
    for stripped, indices in found.items():
        if len(indices) <= MAX_REPEATS and len(old_offsets[stripped]) <= MAX_REPEATS:
            weight = len(stripped)
            for offset in old_offsets[stripped]:
                votes.update({max(0, index - offset): weight for index in indices})
    return max(votes, key=lambda start: (votes[start], -start)) if votes else None


def _start_by_shared_words(lines: Sequence[str], old_lines: Sequence[str]) -> int | None:
    """Return the start of the window of equal height that shares most words with the old text."""
    words = {word for line in old_lines for word in _WORD.findall(line)}
    if not words:
        return None
    shared = [len(words.intersection(_WORD.findall(line))) for line in lines]
    totals = [0, *accumulate(shared)]
    height = min(len(old_lines), len(lines))
    scores = [totals[end] - totals[end - height] for end in range(height, len(totals))]
    best = max(scores)
    return scores.index(best) if best >= MIN_SHARED_WORDS * len(words) else None
