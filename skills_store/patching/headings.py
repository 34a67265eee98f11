"""Where the headings of a hunk lead: the parts of a text that begin with a heading's line."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skills_store.patching.indentation import indent_of
from skills_store.patching.places import Place, line_starts

MAX_HEADINGS = 20
"""A heading that is there more often leads nowhere."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A part of a text in which a hunk is looked for. `heading` is where its heading begins."""

    start: int
    end: int
    heading: int | None = None


def led_scopes(text: str, headings: Sequence[str]) -> list[Scope]:
    """Return the parts that begin with the last heading, each within those of the one before.

    There are none if there are no headings, or one of them is not there or too often.
    """
    if not headings:
        return []
    lines = text.split("\n")
    ranges = [range(len(lines))]
    for position, heading in enumerate(headings):
        blocks = [_block(lines, each) for each in ranges] if position else ranges
        ranges = _below(lines, blocks, heading)
    if len(ranges) > MAX_HEADINGS:
        return []
    starts = line_starts(lines)
    return [Scope(starts[each.start], starts[each.stop] - 1, starts[each.start]) for each in ranges]


def leads_to_first(text: str, scope: Scope, places: Sequence[Place]) -> bool:
    """Whether the first of several places is the only one in the block below the heading."""
    if scope.heading is None:
        return False
    lines = text[scope.heading : next_line(text, places[1].start + 1)].split("\n")
    second = text.count("\n", scope.heading, places[1].start)
    return _block_stop(lines, range(len(lines))) <= second


def next_line(text: str, position: int) -> int:
    """Return where the next line begins; a position at the beginning of a line is one."""
    if position <= 0 or text[position - 1] == "\n":
        return max(0, position)
    end = text.find("\n", position)
    return len(text) if end < 0 else end + 1


def _below(lines: Sequence[str], ranges: Sequence[range], heading: str) -> list[range]:
    """Cut each range at the heading; a line that is the heading counts before one that has it."""
    for is_heading in _likenesses(heading):
        cuts = [[index for index in each if is_heading(lines[index].strip())] for each in ranges]
        if any(cuts):
            return [
                range(start, stop)
                for each, found in zip(ranges, cuts, strict=True)
                if found
                for start, stop in zip(found, [*found[1:], each.stop], strict=True)
            ]
    return []


def _likenesses(heading: str) -> tuple[Callable[[str], bool], ...]:
    begins = re.compile(rf"{re.escape(heading)}(?!\w)")
    has = re.compile(rf"(?<!\w){re.escape(heading)}(?!\w)")
    return (
        lambda line: line == heading,
        lambda line: line.startswith(heading) and begins.match(line) is not None,
        lambda line: heading in line and has.search(line) is not None,
    )


def _block(lines: Sequence[str], cut: range) -> range:
    """Return the part of a cut that is the block of its first line; all, if there is none."""
    stop = _block_stop(lines, cut)
    return range(cut.start, stop) if "".join(lines[cut.start + 1 : stop]).strip() else cut


def _block_stop(lines: Sequence[str], cut: range) -> int:
    """Return the index of the next line that is not indented more than the first of a cut."""
    depth = len(indent_of(lines[cut.start]))
    inside = (index for index in cut[1:] if lines[index].strip())
    return next((index for index in inside if len(indent_of(lines[index])) <= depth), cut.stop)
