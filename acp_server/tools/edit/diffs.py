"""Exact diffs of texts: one block for a file of ordinary size, else one block per change."""

from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from acp_server.turn.events import FileDiff

MAX_FULL_CHARACTERS = 256 * 1024
CONTEXT_LINES = 3
MAX_COMPARED_LINES = 4_000
"""If the first and the last change span more lines than this, they become one block."""
MAX_EQUAL_LINES = 4
"""Lines that occur more often than this are junk for `SequenceMatcher`, which is quadratic in them.

Without the limit, a file of equal lines takes minutes to compare.
"""


def exact_diff(path: str, old_text: str | None, new_text: str) -> tuple[FileDiff, ...]:
    """Return the change of a file: both texts in full, or one block per change with its context.

    `old_text` is None for a new file.
    """
    if old_text is None or len(old_text) + len(new_text) <= MAX_FULL_CHARACTERS:
        return (FileDiff(path, old_text, new_text),)
    old, new = old_text.splitlines(keepends=True), new_text.splitlines(keepends=True)
    return tuple(
        FileDiff(path, "".join(old[a:b]), "".join(new[c:d])) for a, b, c, d in _hunks(old, new)
    )


def _hunks(old: list[str], new: list[str]) -> Iterator[tuple[int, int, int, int]]:
    """Yield (old start, old end, new start, new end) for each change with its context."""
    head = _common_prefix_length(old, new)
    max_tail = min(len(old), len(new)) - head
    tail = min(_common_prefix_length(old[::-1], new[::-1]), max_tail)
    begin = max(0, head - CONTEXT_LINES)
    skipped_tail = max(0, tail - CONTEXT_LINES)
    a, b = old[begin : len(old) - skipped_tail], new[begin : len(new) - skipped_tail]
    if len(a) + len(b) > MAX_COMPARED_LINES:
        yield begin, begin + len(a), begin, begin + len(b)
        return
    counts = Counter(b)
    matcher = SequenceMatcher(lambda line: counts[line] > MAX_EQUAL_LINES, a, b, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        first, last = group[0], group[-1]
        yield begin + first[1], begin + last[2], begin + first[3], begin + last[4]


def _common_prefix_length(one: list[str], other: list[str]) -> int:
    """Return the number of equal lines at the start of both lists."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
