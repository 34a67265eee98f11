"""Texts from the wire as the few printable lines of them that a screen has room for.

Knows nothing of colours. What a text holds is somebody else's: no line of it can move the cursor.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from acp_server.cli.screen import printable
from acp_server.headless.run.cleaning import without_escapes

MOST_LINE_CHARACTERS = 400
_FENCE = re.compile(r"(`{3,})[\w-]*\n(.*?)\n?\1\s*", re.DOTALL)

L = TypeVar("L")
End = Literal["first", "last"]


@dataclass(frozen=True, slots=True)
class Folded(Generic[L]):
    """Some of many lines, and how many there are beside them, before or behind."""

    lines: Sequence[L]
    hidden: int
    end: End
    """Which end of the lines these are."""


def folded(lines: Sequence[L], most: int, end: End) -> Folded[L]:
    """Return at most so many lines of one end; a single line is not worth being hidden."""
    hidden = len(lines) - most
    if hidden <= 1:
        return Folded(lines, 0, end)
    return Folded(lines[hidden:] if end == "last" else lines[:most], hidden, end)


def text_lines(text: str) -> list[str]:
    """Return the printable lines of a text, without the fence of a block of code."""
    fenced = _FENCE.fullmatch(text)
    return [cut(line) for line in (fenced[2] if fenced else text).rstrip().split("\n")]


def output_lines(output: str) -> list[str]:
    """Return the lines that a terminal would show of an output, without its colours.

    A line that was written over shows what was written last.
    """
    plain = without_escapes(output.replace("\r\n", "\n")).rstrip()
    return [cut(line.rstrip("\r").rpartition("\r")[2]) for line in plain.split("\n")]


def cut(line: str) -> str:
    """Return a line that can be printed, cut if it is very long."""
    short = line if len(line) <= MOST_LINE_CHARACTERS else f"{line[:MOST_LINE_CHARACTERS]}…"
    return printable(short.removesuffix("\r").replace("\n", " "))
