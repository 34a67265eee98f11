"""Truncates texts for the model. Pure.

A truncated text keeps its head and its tail. A cut is between two lines if an end of line is near,
and never splits a grapheme: a letter and its accents, the parts of an emoji sequence, the halves of
a flag.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

MIN_FILE_CHARACTERS = 20_000
MAX_FILE_CHARACTERS = 500_000
WINDOW_SHARE = 0.15
HEAD_PERCENT = 70
TAIL_PERCENT = 20

MAX_LINE_LOSS = 200
"""Characters that a cut may lose so that it falls between two lines."""
_MAX_BOUNDARY_STEPS = 64  # bounds the search in a hostile run of combining marks
_JOINER = "\u200d"
_MARKS = {"Mn", "Mc", "Me"}


@dataclass(frozen=True, slots=True)
class TruncatedText:
    """Text within its limit, with the kept and the total number of characters."""

    text: str
    kept_characters: int
    total_characters: int

    @property
    def is_cut(self) -> bool:
        """Whether text was removed."""
        return self.kept_characters < self.total_characters


def file_character_limit(window_tokens: int | None, explicit: int | None = None) -> int:
    """Return the maximum number of characters shown of one file.

    A context window counts only if it is known, not assumed; an explicit setting wins.

    >>> limit = file_character_limit
    >>> limit(None), limit(200_000), limit(200_000, 5_000)
    (20000, 30000, 5000)
    """
    if explicit is not None:
        return max(explicit, 0)
    if window_tokens is None:
        return MIN_FILE_CHARACTERS
    share = min(int(window_tokens * WINDOW_SHARE), MAX_FILE_CHARACTERS)
    return max(MIN_FILE_CHARACTERS, share)


def share_limit(lengths: Sequence[int], cap: int) -> tuple[int, ...]:
    """Split one cap among texts of the given lengths; the last text is shortened last.

    >>> share_limit([500, 500, 500], 1_200)
    (200, 500, 500)
    """
    limits: list[int] = []
    remaining = cap
    for length in reversed(lengths):
        limits.append(min(length, remaining))
        remaining -= limits[-1]
    return tuple(reversed(limits))


def truncate(text: str, limit: int, path: str) -> TruncatedText:
    """Return a text of at most `limit` characters unchanged, else its head, a marker and its tail.

    Head and tail take 90 % of the limit; the result exceeds the limit only if it is too small for
    the marker. The marker names `path` as the file to read for the rest.
    """
    if len(text) <= limit:
        return TruncatedText(text, len(text), len(text))
    head, tail = split_text(text, limit * HEAD_PERCENT // 100, limit * TAIL_PERCENT // 100)
    kept = len(head) + len(tail)
    parts = (head, truncation_marker(kept, len(text), path), tail)
    return TruncatedText("\n\n".join(part for part in parts if part), kept, len(text))


def split_text(text: str, head_characters: int, tail_characters: int) -> tuple[str, str]:
    """Return the head and the tail of a longer text, each with at most so many characters."""
    head_end = _nearest_boundary(text, head_characters, -1)
    tail_begin = _nearest_boundary(text, len(text) - tail_characters, 1)
    line_end = text.rfind("\n", max(head_end - MAX_LINE_LOSS, 0), head_end)
    line_begin = text.find("\n", tail_begin, tail_begin + MAX_LINE_LOSS) + 1
    head = text[: head_end if line_end < 0 else line_end]
    return head.removesuffix("\r"), text[line_begin or tail_begin :]


def truncation_marker(kept: int, total: int, source: str) -> str:
    """Return the line between head and tail, which names where to read the rest, if anywhere."""
    rest = f"; read {source} for the rest" if source else ""
    return f"[… {kept:,} of {total:,} characters are shown{rest} …]"


def _nearest_boundary(text: str, index: int, step: Literal[1, -1]) -> int:
    """Return the nearest boundary from `index` on, in one direction; `index` if none is near."""
    positions = range(index, index + step * _MAX_BOUNDARY_STEPS, step)
    found = (each for each in positions if 0 <= each <= len(text) and _is_boundary(text, each))
    return next(found, index)


def _is_boundary(text: str, index: int) -> bool:
    """Return whether the text may be cut before the character at `index`."""
    if index in (0, len(text)):
        return True
    before, after = text[index - 1], text[index]
    if _JOINER in (before, after) or _is_continuation(after):
        return False
    if _is_flag_half(before) and _is_flag_half(after):
        # A flag is a pair of indicators: an even number before the cut means that no pair is split.
        earlier = (text[position] for position in range(index - 1, -1, -1))
        return sum(1 for _ in takewhile(_is_flag_half, earlier)) % 2 == 0
    is_surrogate_pair = "\ud800" <= before <= "\udbff" and "\udc00" <= after <= "\udfff"
    return not is_surrogate_pair and (before, after) != ("\r", "\n")


def _is_continuation(character: str) -> bool:
    """Return whether a character attaches to the previous one: accents, skin tones, Hangul."""
    return (
        unicodedata.category(character) in _MARKS
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
        or "\u1160" <= character <= "\u11ff"
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
