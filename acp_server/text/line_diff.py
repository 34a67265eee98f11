"""Line diffs of two sequences, in bounded time."""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import TypeVar

Line = TypeVar("Line", bound=Hashable)

MAX_COMPARED_LINES = 4_000
"""If the first and the last change span more lines than this, they become one block."""
MAX_EQUAL_LINES = 4
"""Lines that occur more often than this are junk for `SequenceMatcher`, which is quadratic in them.

Without the limit, a file of equal lines takes minutes to compare.
"""


def iter_hunks(
    old: Sequence[Line], new: Sequence[Line], context_lines: int = 0
) -> Iterator[tuple[int, int, int, int]]:
    """Yield (old start, old end, new start, new end) for each change with its context."""
    # At the first diff: the module is not needed to open a session.
    from difflib import SequenceMatcher  # noqa: PLC0415

    head = _common_prefix_length(old, new)
    if head == len(old) == len(new):
        return
    max_tail = min(len(old), len(new)) - head
    tail = min(_common_prefix_length(old[::-1], new[::-1]), max_tail)
    begin = max(0, head - context_lines)
    skipped_tail = max(0, tail - context_lines)
    a, b = old[begin : len(old) - skipped_tail], new[begin : len(new) - skipped_tail]
    if len(a) + len(b) > MAX_COMPARED_LINES:
        yield begin, begin + len(a), begin, begin + len(b)
        return
    counts = Counter(b)
    matcher = SequenceMatcher(lambda line: counts[line] > MAX_EQUAL_LINES, a, b, autojunk=False)
    for group in matcher.get_grouped_opcodes(context_lines):
        first, last = group[0], group[-1]
        yield begin + first[1], begin + last[2], begin + first[3], begin + last[4]


def _common_prefix_length(one: Sequence[Line], other: Sequence[Line]) -> int:
    """Return the number of equal lines at the start of both sequences."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
