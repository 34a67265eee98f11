"""Shortens texts from the agent to a few printable lines, and diffs them.

These texts are untrusted: control characters are removed, so that none can move the cursor.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Generic, Literal, TypeVar

from acp_server.cli.screen import printable
from acp_server.headless.run.sanitizing import strip_escapes

MAX_LINE_CHARACTERS = 400
_FENCE = re.compile(r"(`{3,})[\w-]*\n(.*?)\n?\1\s*", re.DOTALL)

L = TypeVar("L")
End = Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class FoldedLines(Generic[L]):
    """The first or last of many lines, and the number of hidden ones."""

    lines: Sequence[L]
    hidden: int
    end: End
    """Whether these are the first or the last lines."""


def fold(lines: Sequence[L], limit: int, end: End) -> FoldedLines[L]:
    """Return at most `limit` lines of one end; one line more is shown rather than hidden."""
    hidden = len(lines) - limit
    if hidden <= 1:
        return FoldedLines(lines, 0, end)
    return FoldedLines(lines[hidden:] if end == "last" else lines[:limit], hidden, end)


def text_lines(text: str) -> list[str]:
    """Return the printable lines of a text, without a Markdown code fence around it."""
    fenced = _FENCE.fullmatch(text)
    return [truncate_line(line) for line in (fenced[2] if fenced else text).rstrip().split("\n")]


def output_lines(output: str) -> list[str]:
    """Return the lines of a command's output as a terminal would show them, without colours.

    Of a line that was overwritten after a carriage return, the last text is shown.
    """
    plain = strip_escapes(output.replace("\r\n", "\n")).rstrip()
    return [truncate_line(line.rstrip("\r").rpartition("\r")[2]) for line in plain.split("\n")]


def truncate_line(line: str) -> str:
    """Return a printable line of at most `MAX_LINE_CHARACTERS` characters and an ellipsis."""
    short = line if len(line) <= MAX_LINE_CHARACTERS else f"{line[:MAX_LINE_CHARACTERS]}…"
    return printable(short.removesuffix("\r").replace("\n", " "))


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
