"""Line diff of two texts with context, without colours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from acp_server.cli.text_lines import truncate_line

CONTEXT_LINES = 2
MAX_COMPARED_LINES = 2_000
"""If the changed range is longer, it is shown as replaced whole: a diff would be too slow."""


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff: added, removed or context; a gap stands for omitted lines."""

    sign: Literal["+", "-", " ", "gap"]
    text: str = ""


def diff_lines(old_text: str | None, new_text: str) -> list[DiffLine]:
    """Return the diff of two texts; `old_text` is None for a new file."""
    old, new = _lines(old_text or ""), _lines(new_text)
    lines: list[DiffLine] = []
    last_end = 0
    for group in _groups(old, new):
        if group[0][1] > last_end:
            lines.append(DiffLine("gap"))
        for tag, a, b, c, d in group:
            if tag == "equal":
                lines += [DiffLine(" ", truncate_line(line)) for line in old[a:b]]
            else:
                lines += [DiffLine("-", truncate_line(line)) for line in old[a:b]]
                lines += [DiffLine("+", truncate_line(line)) for line in new[c:d]]
            last_end = b
    if lines and last_end < len(old):
        lines.append(DiffLine("gap"))
    return lines


_Opcode = tuple[str, int, int, int, int]


def _groups(old: Sequence[str], new: Sequence[str]) -> Iterator[Sequence[_Opcode]]:
    """Yield groups of `difflib` opcodes, one per change with its context."""
    head = _common_prefix_length(old, new)
    tail = min(_common_prefix_length(old[::-1], new[::-1]), min(len(old), len(new)) - head)
    start = max(0, head - CONTEXT_LINES)
    skipped_tail = max(0, tail - CONTEXT_LINES)
    a, b = old[start : len(old) - skipped_tail], new[start : len(new) - skipped_tail]
    if len(a) + len(b) > MAX_COMPARED_LINES:
        yield [("replace", start, start + len(a), start, start + len(b))]
        return
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    for group in matcher.get_grouped_opcodes(CONTEXT_LINES):
        yield [(tag, w + start, x + start, y + start, z + start) for tag, w, x, y, z in group]


def _common_prefix_length(one: Sequence[str], other: Sequence[str]) -> int:
    """Return the number of equal lines at the start of both texts."""
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines[:-1] if not lines[-1] else lines
