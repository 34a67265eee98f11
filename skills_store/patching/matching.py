"""Replaces a text that a model recalls from memory: exactly if possible, else with tolerances.

The strategies are tried in order; the first with a match decides. None of them matches text that a
careful reader would call different: words, numbers, symbols and quoted text must be equal, and
every line must be present, in order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from skills_store.patching.anchors import find_anchored
from skills_store.patching.blending import Plan, blend, plan_lines, with_end_blanks
from skills_store.patching.errors import (
    MAX_SHOWN_PLACES,
    AmbiguousError,
    NotFoundError,
    NothingToChangeError,
    NothingToFindError,
)
from skills_store.patching.folding import END_BLANKS, LONG_DASHES, LOOKALIKES, PLAIN, SPACING, Fold
from skills_store.patching.nearest import find_applied, find_nearest
from skills_store.patching.request_variants import (
    without_blank_edges,
    without_edge_newlines,
    without_escapes,
    without_line_numbers,
)
from skills_store.patching.text_search import (
    Place,
    Source,
    Wanted,
    find_anywhere,
    find_reindented,
    line_number,
)


@dataclass(frozen=True, slots=True)
class Replacement:
    """Result of an edit. `spans` refer to the original text, `line` (1-based) to the new one."""

    text: str
    count: int
    strategy: str
    spans: tuple[tuple[int, int], ...]
    line: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Matches of one strategy; at least one span."""

    strategy: str
    wanted: Wanted
    places: tuple[Place, ...]


def replace(text: str, old: str, new: str, *, replace_all: bool = False) -> Replacement:
    """Replace the only occurrence of `old` in `text` by `new`, or every one with `replace_all`.

    Text outside the spans is unchanged, and so is the text inside them that `new` does not change.

    Raises:
        NothingToFindError: `old` is empty.
        NothingToChangeError: `new` equals the existing text.
        NotFoundError: `old` does not occur.
        AmbiguousError: `old` occurs more than once, without `replace_all`.
    """
    if not old:
        raise NothingToFindError
    if old == new:
        raise NothingToChangeError
    finding = find(text, Wanted(old, new))
    if finding is None:
        raise NotFoundError(find_nearest(text, old), find_applied(text, new))
    places = finding.places
    # Anchored blocks may differ in the middle, too loose to replace several of them unseen.
    if len(places) > 1 and not (replace_all and finding.strategy != "block anchor"):
        raise AmbiguousError(len(places), first_lines(text, places))
    return apply(text, finding)


def find(text: str, wanted: Wanted) -> Finding | None:
    """Return the matches of the first strategy that has any; None if none does."""
    source = Source(text)
    return next(chain(_plainly(source, wanted), _in_disguise(source, wanted)), None)


def apply(text: str, finding: Finding) -> Replacement:
    """Apply the edit at every matched span; of two that overlap, at the first.

    Raises:
        NothingToChangeError: the text would not change.
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
    """Return the range that an edit removes at a span, and its replacement."""
    if place.fold is PLAIN:
        return (*_span(text, place, wanted), wanted.new)
    place = with_end_blanks(text, place, wanted, plan)
    return (*_span(text, place, wanted), blend(text, place, wanted, plan))


def first_lines(text: str, places: Sequence[Place]) -> list[int]:
    """Return the line numbers of the first spans."""
    return [line_number(text, place.start) for place in places[:MAX_SHOWN_PLACES]]


def first_changed_line(text: str, result: str, position: int) -> int:
    """Return the number of the first line that differs; there is none before `position`."""
    start = text.rfind("\n", 0, position) + 1
    number = line_number(text, start)
    last = result.count("\n") + (not result.endswith("\n"))
    for line, other in zip(_lines_from(text, start), _lines_from(result, start), strict=False):
        if line != other:
            break
        number += 1
    return max(1, min(number, last))


def _span(text: str, place: Place, wanted: Wanted) -> tuple[int, int]:
    """Return the range to remove: a span, plus a newline that is removed together with it."""
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
    """Try the strategies that take the model's text literally."""
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
    """Try the strategies that reinterpret the model's text."""
    if not wanted.old.strip():
        return
    bare = without_escapes(wanted)
    if bare is not None and bare.old.strip():
        for finding in _plainly(source, bare):
            yield Finding("escapes", finding.wanted, finding.places)
    bare = without_blank_edges(wanted)
    if not (source.text.isascii() and bare.old.isascii()):
        yield from _folded("look-alikes", source, bare, LOOKALIKES)
        if "--" in bare.old or "--" in source.text:  # "--" may represent an em dash
            yield from _folded("look-alikes", source, bare, LONG_DASHES)
    yield from _numbered(source, wanted)
    yield from _found("block anchor", bare, find_anchored(source, bare))


def _numbered(source: Source, wanted: Wanted) -> Iterator[Finding]:
    """Try without line numbers. A single line must be at the line that its number gives."""
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
