"""Truncates texts for the model. Pure.

A truncated text keeps its head and its tail. A cut never splits a grapheme: a letter and its
accents, the parts of an emoji sequence, the halves of a flag.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

LEAST_CAP_CHARACTERS = 20_000
MOST_CAP_CHARACTERS = 500_000
WINDOW_SHARE = 0.15
HEAD_PERCENT = 70
TAIL_PERCENT = 20

_MOST_STEPS = 64  # bounds the search in a hostile run of combining marks
_JOINER = "\u200d"
_MARKS = {"Mn", "Mc", "Me"}


@dataclass(frozen=True, slots=True)
class Truncated:
    """Text within its limit, with the kept and the total number of characters."""

    text: str
    kept_characters: int
    total_characters: int

    @property
    def is_cut(self) -> bool:
        """Whether text was removed."""
        return self.kept_characters < self.total_characters


def character_cap(window_tokens: int | None, explicit: int | None = None) -> int:
    """Return the maximum number of characters shown of one file.

    A context window counts only if it is known, not assumed; an explicit setting wins.

    >>> character_cap(None), character_cap(200_000), character_cap(200_000, 5_000)
    (20000, 30000, 5000)
    """
    if explicit is not None:
        return max(explicit, 0)
    if window_tokens is None:
        return LEAST_CAP_CHARACTERS
    share = min(int(window_tokens * WINDOW_SHARE), MOST_CAP_CHARACTERS)
    return max(LEAST_CAP_CHARACTERS, share)


def shared_limits(lengths: Sequence[int], cap: int) -> tuple[int, ...]:
    """Split one cap among texts of the given lengths; the last text is shortened last.

    >>> shared_limits([500, 500, 500], 1_200)
    (200, 500, 500)
    """
    limits: list[int] = []
    left = cap
    for length in reversed(lengths):
        limits.append(min(length, left))
        left -= limits[-1]
    return tuple(reversed(limits))


def truncate(text: str, limit: int, path: str) -> Truncated:
    """Return a text of at most `limit` characters unchanged, else its head, a marker and its tail.

    Head and tail take 90 % of the limit; the result exceeds the limit only if it is too small for
    the marker. The marker names `path` as the file to read for the rest.
    """
    if len(text) <= limit:
        return Truncated(text, len(text), len(text))
    head = text[: _boundary_before(text, limit * HEAD_PERCENT // 100)]
    tail = text[_boundary_behind(text, len(text) - limit * TAIL_PERCENT // 100) :]
    kept = len(head) + len(tail)
    parts = (head, marker(kept, len(text), path), tail)
    return Truncated("\n\n".join(part for part in parts if part), kept, len(text))


def marker(kept: int, total: int, path: str) -> str:
    """Return the line between head and tail; counts are in characters."""
    return f"[… {kept:,} of {total:,} characters are shown; read {path} for the rest …]"


def _boundary_before(text: str, index: int) -> int:
    steps = range(index, max(index - _MOST_STEPS, -1), -1)
    return next((place for place in steps if _is_boundary(text, place)), index)


def _boundary_behind(text: str, index: int) -> int:
    steps = range(index, min(index + _MOST_STEPS, len(text) + 1))
    return next((place for place in steps if _is_boundary(text, place)), index)


def _is_boundary(text: str, index: int) -> bool:
    """Return whether the text may be cut before the character at `index`."""
    if index in (0, len(text)):
        return True
    before, behind = text[index - 1], text[index]
    if _JOINER in (before, behind) or _continues(behind):
        return False
    if _is_flag_half(before) and _is_flag_half(behind):
        # A flag is a pair of indicators: an even number before the cut means that no pair is split.
        earlier = (text[place] for place in range(index - 1, -1, -1))
        return sum(1 for _ in takewhile(_is_flag_half, earlier)) % 2 == 0
    is_pair = "\ud800" <= before <= "\udbff" and "\udc00" <= behind <= "\udfff"
    return not is_pair and (before, behind) != ("\r", "\n")


def _continues(character: str) -> bool:
    """Return whether a character attaches to the previous one: accents, skin tones, Hangul."""
    return (
        unicodedata.category(character) in _MARKS
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\U000e0020" <= character <= "\U000e007f"
        or "\u1160" <= character <= "\u11ff"
    )


def _is_flag_half(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"
