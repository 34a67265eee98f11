"""Replacing a text that a model remembers: exactly if it can be, else with small tolerances.

The strategies are tried in order and the first that finds anything decides. None of them takes a
text for another that a careful reader would call different: words, numbers, signs and quoted text
must agree, and every line must be there, in order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from skills_store.patching.anchors import find_anchored
from skills_store.patching.blending import Plan, blend, plan_lines, with_end_blanks
from skills_store.patching.disguises import (
    without_blank_edges,
    without_edge_newlines,
    without_escapes,
    without_line_numbers,
)
from skills_store.patching.errors import (
    MAX_SHOWN_PLACES,
    AmbiguousError,
    NotFoundError,
    NothingToChangeError,
    NothingToFindError,
)
from skills_store.patching.folding import END_BLANKS, LONG_DASHES, LOOKALIKES, PLAIN, SPACING, Fold
from skills_store.patching.nearest import find_applied, find_nearest
from skills_store.patching.places import (
    Place,
    Source,
    Wanted,
    find_anywhere,
    find_reindented,
    line_number,
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """A text after an edit. `spans` are in the original text, `line` is in the new one, from 1."""

    text: str
    count: int
    strategy: str
    spans: tuple[tuple[int, int], ...]
    line: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a strategy found a wanted text: in at least one place."""

    strategy: str
    wanted: Wanted
    places: tuple[Place, ...]


def replace(text: str, old: str, new: str, *, replace_all: bool = False) -> Replacement:
    """Replace the only place where `text` has `old` by `new`; every such place if so asked.

    What stands outside the spans stays as it is, and so does what `new` leaves alone inside them.

    Raises:
        NothingToFindError: `old` is empty.
        NothingToChangeError: `new` is what is there.
        NotFoundError: `old` is nowhere.
        AmbiguousError: `old` is in several places, and not all were asked for.
    """
    if not old:
        raise NothingToFindError
    if old == new:
        raise NothingToChangeError
    finding = find(text, Wanted(old, new))
    if finding is None:
        raise NotFoundError(find_nearest(text, old), find_applied(text, new))
    places = finding.places
    if len(places) > 1 and not (replace_all and finding.strategy != "block anchor"):
        raise AmbiguousError(len(places), first_lines(text, places))
    return apply(text, finding)


def find(text: str, wanted: Wanted) -> Finding | None:
    """Return what the first strategy finds that finds anything; None if none does."""
    source = Source(text)
    return next(chain(_plainly(source, wanted), _in_disguise(source, wanted)), None)


def apply(text: str, finding: Finding) -> Replacement:
    """Make the edit at every place of a finding; of two that overlap, at the first.

    Raises:
        NothingToChangeError: the text already reads so everywhere.
    """
    plan = plan_lines(finding.wanted)
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    position = 0
    for place in finding.places:
        if spans and place.start < position:
            continue
        start, end, new = edit_at(text, place, finding.wanted, plan)
        start = max(start, position)
        pieces += (text[position:start], new)
        spans.append((start, end))
        position = end
    result = "".join((*pieces, text[position:]))
    if result == text:
        raise NothingToChangeError
    line = first_changed_line(text, result, spans[0][0])
    return Replacement(result, len(spans), finding.strategy, tuple(spans), line)


def edit_at(text: str, place: Place, wanted: Wanted, plan: Plan) -> tuple[int, int, str]:
    """Return the span that an edit takes away at a place, and what shall stand there."""
    if place.fold is PLAIN:
        return (*_span(text, place, wanted), wanted.new)
    place = with_end_blanks(text, place, wanted, plan)
    return (*_span(text, place, wanted), blend(text, place, wanted, plan))


def first_lines(text: str, places: Sequence[Place]) -> list[int]:
    """Return the numbers of the lines where the first places begin."""
    return [line_number(text, place.start) for place in places[:MAX_SHOWN_PLACES]]


def first_changed_line(text: str, result: str, position: int) -> int:
    """Return the number of the first line that differs; nothing does before `position`."""
    start = text.rfind("\n", 0, position) + 1
    number = line_number(text, start)
    last = result.count("\n") + (not result.endswith("\n"))
    for line, other in zip(_lines_from(text, start), _lines_from(result, start), strict=False):
        if line != other:
            break
        number += 1
    return max(1, min(number, last))


def _span(text: str, place: Place, wanted: Wanted) -> tuple[int, int]:
    """Return what goes: a place, with a newline that goes together with it."""
    if wanted.takes_newline_after:
        end = text.find("\n", place.end)
        if end >= 0:
            return place.start, end + 1
    if wanted.takes_newline_before and text[place.start - 1 : place.start] == "\n":
        return place.start - 1, place.end
    return place.start, place.end


def _lines_from(text: str, start: int) -> Iterator[str]:
    while True:
        end = text.find("\n", start)
        yield text[start:] if end < 0 else text[start:end]
        if end < 0:
            return
        start = end + 1


def _plainly(source: Source, wanted: Wanted) -> Iterator[Finding]:
    """Try the strategies for which the model's text is taken as it stands."""
    yield from _found("exact", wanted, find_anywhere(source, wanted, PLAIN))
    if not wanted.old.strip():
        return
    bare = without_edge_newlines(source.text, wanted)
    if bare is not None:
        yield from _found("edge newlines", bare, find_anywhere(source, bare, PLAIN))
    yield from _found("end blanks", wanted, find_anywhere(source, wanted, END_BLANKS))
    bare = without_blank_edges(wanted)
    if bare != wanted:
        yield from _found("blank edges", bare, find_anywhere(source, bare, END_BLANKS))
    yield from _found("indentation", bare, find_reindented(source, bare, END_BLANKS))
    yield from _folded("spacing", source, bare, SPACING)


def _in_disguise(source: Source, wanted: Wanted) -> Iterator[Finding]:
    """Try the strategies which take the model's text for something else than it is."""
    if not wanted.old.strip():
        return
    bare = without_escapes(wanted)
    if bare is not None and bare.old.strip():
        for finding in _plainly(source, bare):
            yield Finding("escapes", finding.wanted, finding.places)
    bare = without_blank_edges(wanted)
    if not (source.text.isascii() and bare.old.isascii()):
        yield from _folded("look-alikes", source, bare, LOOKALIKES)
        if "--" in bare.old or "--" in source.text:  # which may stand for one long dash
            yield from _folded("look-alikes", source, bare, LONG_DASHES)
    yield from _numbered(source, wanted)
    yield from _found("block anchor", bare, find_anchored(source, bare))


def _numbered(source: Source, wanted: Wanted) -> Iterator[Finding]:
    """Try without line numbers. A single line must be where its number says."""
    numbered = without_line_numbers(wanted)
    if numbered is None or not numbered[0].old.strip():
        return
    bare, first = numbered
    is_single = "\n" not in bare.old.strip("\n")
    for finding in _plainly(source, bare):
        places = [
            place
            for place in finding.places
            if not is_single or line_number(source.text, place.start) == first
        ]
        yield from _found("line numbers", finding.wanted, places)


def _folded(strategy: str, source: Source, wanted: Wanted, fold: Fold) -> Iterator[Finding]:
    yield from _found(strategy, wanted, find_anywhere(source, wanted, fold))
    yield from _found(strategy, wanted, find_reindented(source, wanted, fold))


def _found(strategy: str, wanted: Wanted, places: Sequence[Place]) -> Iterator[Finding]:
    if places:
        yield Finding(strategy, wanted, tuple(places))
