"""Resolves the headings (`@@ ...`) of a hunk to the parts of a text that start with them."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skills_store.patching.indentation import indent_of
from skills_store.patching.text_search import MatchedSpan, line_starts

MAX_HEADINGS = 20
"""A heading that occurs more often is ignored."""


@dataclass(frozen=True, slots=True)
class SearchScope:
    """Part of a text in which to search for a hunk. `heading` is the offset of its heading."""

    start: int
    end: int
    heading_start: int | None = None


def heading_scopes(text: str, headings: Sequence[str]) -> list[SearchScope]:
    """Return the parts that start with the last heading, each within those of the one before.

    Empty without headings, or if one of them does not occur or occurs too often.
    """
    if not headings:
        return []
    lines = text.split("\n")
    ranges = [range(len(lines))]
    for position, heading in enumerate(headings):
        blocks = [_block_range(lines, each) for each in ranges] if position else ranges
        ranges = _split_at_heading(lines, blocks, heading)
    if len(ranges) > MAX_HEADINGS:
        return []
    starts = line_starts(lines)
    return [
        SearchScope(starts[each.start], starts[each.stop] - 1, starts[each.start])
        for each in ranges
    ]


def is_first_alone_in_block(text: str, scope: SearchScope, spans: Sequence[MatchedSpan]) -> bool:
    """Return whether the first of several spans is the only one in the block below the heading."""
    if scope.heading_start is None:
        return False
    lines = text[scope.heading_start : next_line_start(text, spans[1].start + 1)].split("\n")
    second_line = text.count("\n", scope.heading_start, spans[1].start)
    return _block_stop(lines, range(len(lines))) <= second_line


def next_line_start(text: str, position: int) -> int:
    """Return the start of the next line, or the position itself if it is at the start of a line.

    A negative position gives 0.
    """
    if position <= 0 or text[position - 1] == "\n":
        return max(0, position)
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _split_at_heading(lines: Sequence[str], ranges: Sequence[range], heading: str) -> list[range]:
    """Split each range at the heading; an exact match takes precedence over a partial one."""
    for is_heading in _heading_matchers(heading):
        starts = [[index for index in each if is_heading(lines[index].strip())] for each in ranges]
        if any(starts):
            return [
                range(start, stop)
                for each, found in zip(ranges, starts, strict=True)
                if found
                for start, stop in zip(found, [*found[1:], each.stop], strict=True)
            ]
    return []


def _heading_matchers(heading: str) -> tuple[Callable[[str], bool], ...]:
    prefix_pattern = re.compile(rf"{re.escape(heading)}(?!\w)")
    word_pattern = re.compile(rf"(?<!\w){re.escape(heading)}(?!\w)")
    return (
        lambda line: line == heading,
        lambda line: line.startswith(heading) and prefix_pattern.match(line) is not None,
        lambda line: heading in line and word_pattern.search(line) is not None,
    )


def _block_range(lines: Sequence[str], block: range) -> range:
    """Return the part of a range that is its first line's indented block; all, if there is none."""
    stop = _block_stop(lines, block)
    return range(block.start, stop) if "".join(lines[block.start + 1 : stop]).strip() else block


def _block_stop(lines: Sequence[str], block: range) -> int:
    """Return the index of the next line that is not indented more than the first of a range."""
    depth = len(indent_of(lines[block.start]))
    indices = (index for index in block[1:] if lines[index].strip())
    return next((index for index in indices if len(indent_of(lines[index])) <= depth), block.stop)
