"""Shortens texts from the agent to a few printable lines.

These texts are untrusted: control characters are removed, so that none can move the cursor.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
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
