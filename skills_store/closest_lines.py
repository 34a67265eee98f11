"""Find the lines most similar to a text that was not found, as a hint for the model."""

from difflib import SequenceMatcher
from heapq import nlargest

MAX_LINES = 3
MAX_CHARACTERS = 200
_MAX_COMPARED = 5_000
_MIN_SIMILARITY = 0.3


def find_closest_lines(text: str, old_text: str) -> tuple[tuple[int, str], ...]:
    """Return the lines most similar to the first non-empty line of `old_text`.

    Pairs of line number (from 1) and line, in file order; empty if none is similar.
    """
    first = next((line.strip() for line in old_text.splitlines() if line.strip()), "")
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(first[:MAX_CHARACTERS])
    scored: list[tuple[float, int, str]] = []
    for number, line in enumerate(text.splitlines()[:_MAX_COMPARED], 1):
        matcher.set_seq1(line.strip()[:MAX_CHARACTERS])
        if matcher.quick_ratio() >= _MIN_SIMILARITY and line.strip():
            scored.append((matcher.ratio(), -number, line[:MAX_CHARACTERS]))
    best = nlargest(MAX_LINES, [each for each in scored if each[0] >= _MIN_SIMILARITY])
    return tuple(sorted((-negative, line) for _, negative, line in best))
