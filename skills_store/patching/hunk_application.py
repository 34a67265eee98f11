"""Locates the hunks of a patch in a text and applies them.

A hunk is searched for below its heading, then after the previous hunk, then anywhere. A unique
match decides. Of several matches after the previous hunk, or in the whole text for the first one,
the first is taken if the hunk has no heading and no line number: so Codex places hunks, and models
write them for it. Of several matches below one heading the first is taken, unless the same block
contains another. Line numbers only decide between equally good matches.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from skills_store.patching.blending import plan_lines
from skills_store.patching.changes import Hunk
from skills_store.patching.errors import (
    AmbiguousError,
    NotFoundError,
    NothingToChangeError,
    PatchError,
    UnplacedInsertionError,
)
from skills_store.patching.headings import (
    SearchScope,
    heading_scopes,
    is_first_alone_in_block,
    next_line_start,
)
from skills_store.patching.matching import (
    StrategyMatch,
    edit_at,
    find_match,
    first_changed_line,
    first_line_numbers,
)
from skills_store.patching.nearest import find_applied, find_nearest
from skills_store.patching.text_search import EditRequest, MatchedSpan, line_number, line_starts

FIRST_FIT_STRATEGIES = frozenset(
    {"exact", "edge newlines", "end blanks", "blank edges", "indentation", "spacing", "look-alikes"}
)
"""The matches of which the first may be taken; the others are too loose."""


@dataclass(frozen=True, slots=True)
class HunksApplied:
    """Text after a patch, with the first changed line (1-based) of each hunk that changes it.

    `skipped` are the numbers of the hunks that change nothing, apart from those that only mark a
    position. `first_fits` has the number of each hunk that was placed at the first of several
    matches, and how many there were.
    """

    text: str
    lines: tuple[int, ...]
    skipped: tuple[int, ...] = ()
    first_fits: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class HunkEdit:
    """Effect of a hunk: the span and its replacement. `line` is the first changed line."""

    start: int
    end: int
    new: str
    line: int
    fits: int = 1
    """How many matches there were if the first of them was taken for being the first."""


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> HunksApplied:
    """Apply the hunks of one file in order. A hunk with only context marks a position.

    Raises:
        NotFoundError: the old lines of a hunk do not occur.
        AmbiguousError: they occur more than once, and neither heading nor order decides.
        UnplacedInsertionError: a hunk only adds lines and gives no position.
        NothingToChangeError: no hunk changes the text.
    """
    result = text
    cursor: int | None = None
    placed: list[tuple[int, int]] = []  # the first changed line, and the number of lines added
    skipped: list[int] = []
    first_fits: list[tuple[int, int]] = []
    for number, hunk in enumerate(hunks, 1):
        cursor = None if hunk.starts_section else cursor
        try:
            edit = _locate_edit(result, _shifted(hunk, placed), number, cursor or 0)
        except PatchError:
            if hunk.is_change:
                raise
            skipped.append(number)
            continue
        changed = result[: edit.start] + edit.new + result[edit.end :]
        cursor = next_line_start(changed, edit.start + len(edit.new))
        if changed != result:
            growth = edit.new.count("\n") - result.count("\n", edit.start, edit.end)
            # A later hunk can apply above an earlier one, which shifts the lines already reported.
            placed = [(line + growth * (line > edit.line), more) for line, more in placed]
            placed.append((edit.line, growth))
            first_fits += [(number, edit.fits)] if edit.fits > 1 else []
        elif any(line.sign != " " for line in hunk.lines):
            skipped.append(number)
        result = changed
    if result == text:
        raise NothingToChangeError
    last = result.count("\n") + (not result.endswith("\n"))
    lines = tuple(max(1, min(line, last)) for line, _ in placed)
    return HunksApplied(result, lines, tuple(skipped), tuple(first_fits))


def _shifted(hunk: Hunk, placed: Sequence[tuple[int, int]]) -> Hunk:
    """Return a hunk whose line number counts what the hunks before it have added above it."""
    hint = hunk.line_hint
    if hint is None:
        return hunk
    for line, growth in placed:
        hint += growth if line <= hint else 0
    return replace(hunk, line_hint=hint)


def _locate_edit(text: str, hunk: Hunk, number: int, cursor: int) -> HunkEdit:
    """Return the effect of a hunk; `cursor` is the end of the one before it."""
    if not any(line.sign == "-" or (line.sign == " " and line.text.strip()) for line in hunk.lines):
        return _locate_insertion(text, hunk, number, cursor)
    request = EditRequest(
        "\n".join(hunk.old_lines),
        "\n".join(hunk.new_lines),
        starts_line=True,
        ends_line=True,
        takes_newline_before=not hunk.new_lines,
        takes_newline_after=not hunk.new_lines,
    )
    for scopes in _search_scopes(text, hunk, cursor):
        found = _find_in_scopes(text, scopes, request)
        if found:
            is_below = all(scope.start >= cursor for scope in scopes)
            is_bare = not hunk.headings and hunk.line_hint is None
            return _choose_edit(text, found, hunk, number, takes_first=is_below and is_bare)
    edit = _locate_by_changed_lines(text, hunk)
    if edit is not None:
        return edit
    search = find_nearest(text, request.old)
    applied = find_applied(text, request)
    raise NotFoundError(search.nearest, applied, number, is_unlike=search.is_unlike)


def _locate_by_changed_lines(text: str, hunk: Hunk) -> HunkEdit | None:
    """Return the effect at the only place that differs in the indentation of lines that stay.

    These lines stay as they are in the text; those that go must be there exactly.
    """
    old = [line for line in hunk.lines if line.sign != "+"]
    lines = text.split("\n")
    stripped = [line.strip() for line in lines]
    wanted = [line.text.strip() for line in old]
    indices = [
        index
        for index in range(len(lines) - len(old) + 1)
        if stripped[index] == wanted[0]
        and stripped[index : index + len(old)] == wanted
        and all(
            line.sign == " " or lines[index + offset].rstrip() == line.text.rstrip()
            for offset, line in enumerate(old)
        )
    ]
    if len(indices) != 1 or not hunk.is_change:
        return None
    first = position = indices[0]
    new_lines: list[str] = []
    changed: int | None = None
    for line in hunk.lines:
        if line.sign != " " and changed is None:
            changed = first + len(new_lines)
        if line.sign == " ":
            new_lines.append(lines[position])
        elif line.sign == "+":
            new_lines.append(line.text)
        position += line.sign != "+"
    starts = line_starts(lines)
    new = "".join(f"{line}\n" for line in new_lines)
    end = min(starts[position], len(text))
    if end == len(text) and not text.endswith("\n"):
        new = new.removesuffix("\n")
    return HunkEdit(starts[first], end, new, (changed or first) + 1)


def _search_scopes(text: str, hunk: Hunk, cursor: int) -> Iterator[list[SearchScope]]:
    """Yield groups of search scopes; each is tried if the ones before contain no match."""
    scopes_below = heading_scopes(text, hunk.headings)
    if scopes_below:
        yield [
            replace(each, start=max(each.start, cursor))
            for each in scopes_below
            if each.end >= cursor
        ]
        yield scopes_below
    if cursor:
        yield [SearchScope(cursor, len(text))]
    yield [SearchScope(0, len(text))]


def _find_in_scopes(
    text: str, scopes: Sequence[SearchScope], request: EditRequest
) -> list[tuple[SearchScope, StrategyMatch]]:
    """Return the matches in each scope; only the exact ones, if there are any."""
    found: list[tuple[SearchScope, StrategyMatch]] = []
    for scope in scopes:
        finding = find_match(text[scope.start : scope.end], request)
        if finding is not None:
            spans = [
                replace(span, start=span.start + scope.start, end=span.end + scope.start)
                for span in finding.spans
            ]
            found.append((scope, replace(finding, spans=tuple(spans))))
    return [each for each in found if each[1].strategy == "exact"] or found


def _choose_edit(
    text: str,
    found: Sequence[tuple[SearchScope, StrategyMatch]],
    hunk: Hunk,
    number: int,
    *,
    takes_first: bool,
) -> HunkEdit:
    """Choose one of the matches and build its edit."""
    spans = [span for _, finding in found for span in finding.spans]
    scope, finding = found[0]
    span, fits = spans[0], 1
    if len(spans) > 1:
        preferred: MatchedSpan | None = None
        hinted = [each for each in spans if hunk.line_hint == line_number(text, each.start)]
        if hunk.is_at_end and not text[spans[-1].end :].strip():
            preferred = spans[-1]
        elif len(hinted) == 1:
            preferred = hinted[0]
        if preferred is None and len(found) == 1 and is_first_alone_in_block(text, scope, spans):
            preferred = span
        if preferred is None and takes_first and finding.strategy in FIRST_FIT_STRATEGIES:
            preferred, fits = span, len(spans)
        if preferred is None:
            raise AmbiguousError(len(spans), first_line_numbers(text, spans), number)
        span = preferred
        finding = next(each for _, each in found if span in each.spans)
    start, end, new = edit_at(text, span, finding.request, plan_lines(finding.request))
    changed = text[:start] + new + text[end:]
    is_unchanged = changed == text
    line = line_number(text, start) if is_unchanged else first_changed_line(text, changed, start)
    return HunkEdit(start, end, new, line, fits)


def _locate_insertion(text: str, hunk: Hunk, number: int, cursor: int) -> HunkEdit:
    """Insert lines below the heading, or at the end of the file."""
    lines = [line.text for line in hunk.lines if line.sign == "+"]
    if not text.strip():
        return HunkEdit(0, len(text), "".join(f"{line}\n" for line in lines), 1)
    if hunk.is_at_end:
        return _insert_lines(text, len(text), lines)
    scopes_below = heading_scopes(text, hunk.headings)
    candidates = [scope for scope in scopes_below if scope.start >= cursor] or scopes_below
    if len(candidates) != 1:
        raise UnplacedInsertionError(number, hunk.headings[-1] if hunk.headings else None)
    return _insert_lines(text, next_line_start(text, candidates[0].start + 1), lines)


def _insert_lines(text: str, position: int, lines: Sequence[str]) -> HunkEdit:
    """Insert complete lines at the start of a line, or after a last line without newline."""
    is_ended = text.endswith("\n", 0, position)
    new = "".join(f"{line}\n" if is_ended else f"\n{line}" for line in lines)
    return HunkEdit(position, position, new, line_number(text, position) + (not is_ended))
