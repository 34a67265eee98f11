"""Where the hunks of a patch belong in a text, and what the text is with them.

A hunk is looked for below its heading, then below the hunk before it, then anywhere. It goes where
it is found once; of several places below one heading it goes to the first, unless another stands in
the same block. Line numbers decide only between places that are equally good.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from skills_store.patching.blending import plan_lines
from skills_store.patching.changes import Hunk
from skills_store.patching.errors import (
    AmbiguousError,
    NotFoundError,
    NothingToChangeError,
    UnplacedInsertionError,
)
from skills_store.patching.headings import Scope, leads_to_first, led_scopes, next_line
from skills_store.patching.matching import (
    Finding,
    edit_at,
    find,
    first_changed_line,
    first_lines,
)
from skills_store.patching.nearest import find_applied, find_nearest
from skills_store.patching.places import Place, Wanted, line_number


@dataclass(frozen=True, slots=True)
class HunksApplied:
    """A text after a patch, and the first changed line of each hunk in it, from 1."""

    text: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """What a hunk does to a text: this span becomes that. `line` is the first changed one."""

    start: int
    end: int
    new: str
    line: int


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> HunksApplied:
    """Apply the hunks of one file in order. A hunk that only has context marks a place.

    Raises:
        NotFoundError: the old lines of a hunk are nowhere.
        AmbiguousError: they are in several places, and neither heading nor order tells which.
        UnplacedInsertionError: a hunk only adds lines and does not say where.
        NothingToChangeError: no hunk changes anything.
    """
    result = text
    cursor = 0
    lines: list[int] = []
    for number, hunk in enumerate(hunks, 1):
        edit = _edit(result, hunk, number, cursor)
        grown = edit.new.count("\n") - result.count("\n", edit.start, edit.end)
        lines = [line + grown if line > edit.line else line for line in lines]
        lines.append(edit.line)
        result = result[: edit.start] + edit.new + result[edit.end :]
        cursor = next_line(result, edit.start + len(edit.new))
    if result == text:
        raise NothingToChangeError
    last = result.count("\n") + (not result.endswith("\n"))
    return HunksApplied(result, tuple(max(1, min(line, last)) for line in lines))


def _edit(text: str, hunk: Hunk, number: int, cursor: int) -> Edit:
    if not any(line.sign == "-" or (line.sign == " " and line.text.strip()) for line in hunk.lines):
        return _insertion(text, hunk, number, cursor)
    wanted = Wanted(
        "\n".join(hunk.old_lines),
        "\n".join(hunk.new_lines),
        starts_line=True,
        ends_line=True,
        takes_newline_before=not hunk.new_lines,
        takes_newline_after=not hunk.new_lines,
    )
    for scopes in _scopes(text, hunk, cursor):
        found = _find_in(text, scopes, wanted)
        if found:
            return _chosen(text, found, hunk, number)
    raise NotFoundError(find_nearest(text, wanted.old), find_applied(text, wanted.new), number)


def _scopes(text: str, hunk: Hunk, cursor: int) -> Iterator[list[Scope]]:
    """Say where to look for a hunk: each group is tried when the ones before hold nothing."""
    led = led_scopes(text, hunk.headings)
    if led:
        yield [replace(each, start=max(each.start, cursor)) for each in led if each.end >= cursor]
        yield led
    if cursor:
        yield [Scope(cursor, len(text))]
    yield [Scope(0, len(text))]


def _find_in(text: str, scopes: Sequence[Scope], wanted: Wanted) -> list[tuple[Scope, Finding]]:
    """Return what is found in each scope; if something is there exactly, only that."""
    found: list[tuple[Scope, Finding]] = []
    for scope in scopes:
        finding = find(text[scope.start : scope.end], wanted)
        if finding is not None:
            places = [
                replace(place, start=place.start + scope.start, end=place.end + scope.start)
                for place in finding.places
            ]
            found.append((scope, replace(finding, places=tuple(places))))
    return [each for each in found if each[1].strategy == "exact"] or found


def _chosen(text: str, found: Sequence[tuple[Scope, Finding]], hunk: Hunk, number: int) -> Edit:
    """Decide for one of the places that were found, and make the edit there."""
    places = [place for _, finding in found for place in finding.places]
    scope, finding = found[0]
    place = places[0]
    if len(places) > 1:
        chosen = _preferred(text, places, hunk)
        if chosen is None and len(found) == 1 and leads_to_first(text, scope, places):
            chosen = place
        if chosen is None:
            raise AmbiguousError(len(places), first_lines(text, places), number)
        place = chosen
        finding = next(each for _, each in found if place in each.places)
    start, end, new = edit_at(text, place, finding.wanted, plan_lines(finding.wanted))
    changed = text[:start] + new + text[end:]
    is_same = changed == text
    line = line_number(text, start) if is_same else first_changed_line(text, changed, start)
    return Edit(start, end, new, line)


def _preferred(text: str, places: Sequence[Place], hunk: Hunk) -> Place | None:
    """Return the place at the end of the file or on the line the hunk names, if it does."""
    if hunk.is_at_end and not text[places[-1].end :].strip():
        return places[-1]
    named = [place for place in places if hunk.line_hint == line_number(text, place.start)]
    return named[0] if len(named) == 1 else None


def _insertion(text: str, hunk: Hunk, number: int, cursor: int) -> Edit:
    """Add lines below the heading, or at the end of the file."""
    lines = [line.text for line in hunk.lines if line.sign == "+"]
    if not text.strip():
        return Edit(0, len(text), "".join(f"{line}\n" for line in lines), 1)
    if hunk.is_at_end:
        return _inserted(text, len(text), lines)
    led = led_scopes(text, hunk.headings)
    below = [scope for scope in led if scope.start >= cursor] or led
    if len(below) != 1:
        raise UnplacedInsertionError(number, hunk.headings[-1] if hunk.headings else None)
    return _inserted(text, next_line(text, below[0].start + 1), lines)


def _inserted(text: str, position: int, lines: Sequence[str]) -> Edit:
    """Put whole lines at the beginning of a line, or below a last one that is not ended."""
    is_ended = text.endswith("\n", 0, position)
    new = "".join(f"{line}\n" if is_ended else f"\n{line}" for line in lines)
    return Edit(position, position, new, line_number(text, position) + (not is_ended))
