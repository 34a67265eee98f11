"""The lines of a text that are most like a wanted one, for the model that remembered it wrongly."""

from difflib import SequenceMatcher
from heapq import nlargest

MOST_LINES = 3
MOST_CHARACTERS = 200
_MOST_COMPARED = 5_000
_LEAST_LIKENESS = 0.3


def closest_lines(text: str, wanted: str) -> tuple[tuple[int, str], ...]:
    """Return the lines most like the first wanted one that says something, by number, from 1.

    Nothing, if none is like it at all.
    """
    first = next((line.strip() for line in wanted.splitlines() if line.strip()), "")
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(first[:MOST_CHARACTERS])
    scored: list[tuple[float, int, str]] = []
    for number, line in enumerate(text.splitlines()[:_MOST_COMPARED], 1):
        matcher.set_seq1(line.strip()[:MOST_CHARACTERS])
        if matcher.quick_ratio() >= _LEAST_LIKENESS and line.strip():
            scored.append((matcher.ratio(), -number, line[:MOST_CHARACTERS]))
    best = nlargest(MOST_LINES, [each for each in scored if each[0] >= _LEAST_LIKENESS])
    return tuple(sorted((-negative, line) for _, negative, line in best))
