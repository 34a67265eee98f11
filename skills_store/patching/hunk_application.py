"""Locates the hunks of a patch in a text and applies them.

A hunk is searched for below its heading, then after the previous hunk, then anywhere. A unique
match decides; of several matches below one heading the first is taken, unless the same block
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
from skills_store.patching.text_search import EditRequest, MatchedSpan, line_number


@dataclass(frozen=True, slots=True)
class HunksApplied:
    """Text after a patch, with the first changed line (1-based) of each hunk."""

    text: str
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class HunkEdit:
    """Effect of a hunk: the span and its replacement. `line` is the first changed line."""

    start: int
    end: int
    new: str
    line: int


def apply_hunks(text: str, hunks: Sequence[Hunk]) -> HunksApplied:
    """Apply the hunks of one file in order. A hunk with only context marks a position.

    Raises:
        NotFoundError: the old lines of a hunk do not occur.
        AmbiguousError: they occur more than once, and neither heading nor order decides.
        UnplacedInsertionError: a hunk only adds lines and gives no position.
        NothingToChangeError: no hunk changes the text.
    """
    result = text
    cursor = 0
    lines: list[int] = []
    for number, hunk in enumerate(hunks, 1):
        edit = _locate_edit(result, hunk, number, cursor)
        added_lines = edit.new.count("\n") - result.count("\n", edit.start, edit.end)
        # A later hunk can apply above an earlier one, which shifts the lines already reported.
        lines = [line + added_lines if line > edit.line else line for line in lines]
        lines.append(edit.line)
        result = result[: edit.start] + edit.new + result[edit.end :]
        cursor = next_line_start(result, edit.start + len(edit.new))
    if result == text:
        raise NothingToChangeError
    last = result.count("\n") + (not result.endswith("\n"))
    return HunksApplied(result, tuple(max(1, min(line, last)) for line in lines))


def _locate_edit(text: str, hunk: Hunk, number: int, cursor: int) -> HunkEdit:
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
            return _choose_edit(text, found, hunk, number)
    raise NotFoundError(find_nearest(text, request.old), find_applied(text, request.new), number)


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
    text: str, found: Sequence[tuple[SearchScope, StrategyMatch]], hunk: Hunk, number: int
) -> HunkEdit:
    """Choose one of the matches and build its edit."""
    spans = [span for _, finding in found for span in finding.spans]
    scope, finding = found[0]
    span = spans[0]
    if len(spans) > 1:
        preferred: MatchedSpan | None = None
        hinted = [each for each in spans if hunk.line_hint == line_number(text, each.start)]
        if hunk.is_at_end and not text[spans[-1].end :].strip():
            preferred = spans[-1]
        elif len(hinted) == 1:
            preferred = hinted[0]
        if preferred is None and len(found) == 1 and is_first_alone_in_block(text, scope, spans):
            preferred = span
        if preferred is None:
            raise AmbiguousError(len(spans), first_line_numbers(text, spans), number)
        span = preferred
        finding = next(each for _, each in found if span in each.spans)
    start, end, new = edit_at(text, span, finding.request, plan_lines(finding.request))
    changed = text[:start] + new + text[end:]
    is_unchanged = changed == text
    line = line_number(text, start) if is_unchanged else first_changed_line(text, changed, start)
    return HunkEdit(start, end, new, line)


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
