"""Replaces a text that a model recalls from memory: exactly if possible, else with tolerances.

The strategies are tried in order; the first with a match decides. None of them matches text that a
careful reader would call different: words, numbers, symbols and quoted text must be equal, and
every line must be present, in order.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from itertools import chain

from skills_store.patching.anchors import find_anchored
from skills_store.patching.blending import LinePlan, include_trailing_blanks, merge_edit, plan_lines
from skills_store.patching.errors import (
    MAX_SHOWN_SPANS,
    AmbiguousError,
    NotFoundError,
    NothingToChangeError,
    NothingToFindError,
)
from skills_store.patching.folding import END_BLANKS, LONG_DASHES, LOOKALIKES, PLAIN, SPACING, Fold
from skills_store.patching.nearest import find_applied, find_nearest
from skills_store.patching.request_variants import (
    describe_mistake,
    split_at_ellipses,
    without_blank_edges,
    without_diff_marks,
    without_edge_newlines,
    without_entities,
    without_escapes,
    without_fence,
    without_line_numbers,
)
from skills_store.patching.text_search import (
    EditRequest,
    MatchedSpan,
    SearchableText,
    find_anywhere,
    find_reindented,
    line_number,
)

BLANK_STRATEGIES = frozenset({"exact", "end blanks", "indentation", "spacing"})
"""The strategies whose matches differ in blanks at most."""


@dataclass(frozen=True, slots=True)
class Replacement:
    """Result of an edit. `spans` refer to the original text, `line` (1-based) to the new one."""

    text: str
    count: int
    strategy: str
    spans: tuple[tuple[int, int], ...]
    line: int


@dataclass(frozen=True, slots=True)
class StrategyMatch:
    """Matches of one strategy; at least one span."""

    strategy: str
    request: EditRequest
    spans: tuple[MatchedSpan, ...]


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
    request = EditRequest(old, new)
    finding = find_match(text, request)
    if finding is None:
        abbreviated = _replace_between_ellipses(text, request)
        if abbreviated is not None:
            return abbreviated
        search = find_nearest(text, old)
        raise NotFoundError(
            search.nearest,
            find_applied(text, request),
            mistake=describe_mistake(old),
            is_unlike=search.is_unlike,
        )
    if replace_all and finding.strategy in BLANK_STRATEGIES:
        finding = _with_other_blanks(text, finding)
    spans = finding.spans
    # Anchored blocks may differ in the middle, too loose to replace several of them unseen.
    if len(spans) > 1 and not (replace_all and finding.strategy != "block anchor"):
        raise AmbiguousError(len(spans), first_line_numbers(text, spans))
    return apply_match(text, finding)


def _with_other_blanks(text: str, finding: StrategyMatch) -> StrategyMatch:
    """Return a match with all places that differ from it in blanks alone.

    Whoever replaces all places means these too: a name that is left over in one of them breaks.
    """
    if not finding.request.old.strip():
        return finding
    source, request = SearchableText(text), without_blank_edges(finding.request)
    spans: list[MatchedSpan] = []
    widest = finding.strategy
    for strategy, search, fold in (
        ("exact", find_anywhere, PLAIN),
        ("end blanks", find_anywhere, END_BLANKS),
        ("indentation", find_reindented, END_BLANKS),
        ("spacing", find_anywhere, SPACING),
        ("spacing", find_reindented, SPACING),
    ):
        for span in search(source, request, fold):
            if all(span.end <= known.start or span.start >= known.end for known in spans):
                spans.append(span)
                widest = strategy
    if len(spans) <= len(finding.spans):
        return finding
    return StrategyMatch(widest, request, tuple(sorted(spans, key=lambda span: span.start)))


def _replace_between_ellipses(text: str, request: EditRequest) -> Replacement | None:
    """Apply an edit whose old and new text leave out the same lines (`...`); None if it is not.

    What is left out stays. A part that changes must be at one place only.
    """
    pieces: list[str] = []
    spans = list[tuple[int, int]]()
    position = 0
    for old, new in split_at_ellipses(request):
        rest = text[position:]
        part = EditRequest(
            old, new, starts_line=True, ends_line=True, takes_newline_after=not new.strip()
        )
        finding = find_match(rest, part)
        if finding is None:
            return None
        span, *others = finding.spans
        if others and (old != new or not spans):
            return None
        start, end, changed = edit_at(rest, span, finding.request, plan_lines(finding.request))
        pieces += (rest[:start], changed if old != new else rest[start:end])
        spans.append((position + start, position + end))
        position += end
    result = "".join((*pieces, text[position:]))
    if not spans or result == text:
        return None
    line = first_changed_line(text, result, spans[0][0])
    return Replacement(result, 1, "parts", tuple(spans), line)


def find_match(text: str, request: EditRequest) -> StrategyMatch | None:
    """Return the matches of the first strategy that has any; None if none does."""
    source = SearchableText(text)
    return next(
        chain(_find_as_written(source, request), _find_reinterpreted(source, request)), None
    )


def apply_match(text: str, finding: StrategyMatch) -> Replacement:
    """Apply the edit at every matched span; of two that overlap, at the first.

    Raises:
        NothingToChangeError: the text would not change.
    """
    requests = {False: finding.request, True: _with_last_newline(finding.request)}
    plans = {keeps: plan_lines(request) for keeps, request in requests.items()}
    pieces: list[str] = []
    spans: list[tuple[int, int]] = []
    position = 0
    for span in finding.spans:
        if spans and span.start < position:
            continue
        keeps = _is_line_behind(text, span.end)
        start, end, new = edit_at(text, span, requests[keeps], plans[keeps])
        start = max(start, position)
        pieces += (text[position:start], new)
        spans.append((start, end))
        position = end
    result = "".join((*pieces, text[position:]))
    if result == text:
        raise NothingToChangeError
    line = first_changed_line(text, result, spans[0][0])
    return Replacement(result, len(spans), finding.strategy, tuple(spans), line)


def _with_last_newline(request: EditRequest) -> EditRequest:
    """Return a request whose new text ends with a newline if the old one does.

    Models forget it; the line behind would be joined to the new text. A new text that is empty, or
    the old one without its newline, is meant as it is.
    """
    is_forgotten = request.old.endswith("\n") and not request.new.endswith("\n")
    if not is_forgotten or not request.new or request.old == f"{request.new}\n":
        return request
    return replace_fields(request, new=f"{request.new}\n")


def _is_line_behind(text: str, position: int) -> bool:
    """Whether a line that is not blank begins at a position."""
    end = text.find("\n", position)
    return bool(text[position : None if end < 0 else end].strip())


def edit_at(
    text: str, span: MatchedSpan, request: EditRequest, plan: LinePlan
) -> tuple[int, int, str]:
    """Return the range that an edit removes at a span, and its replacement."""
    if span.fold is PLAIN:
        return (*_removed_span(text, span, request), request.new)
    span = include_trailing_blanks(text, span, request, plan)
    return (*_removed_span(text, span, request), merge_edit(text, span, request, plan))


def first_line_numbers(text: str, spans: Sequence[MatchedSpan]) -> list[int]:
    """Return the line numbers of the first spans."""
    return [line_number(text, span.start) for span in spans[:MAX_SHOWN_SPANS]]


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


def _removed_span(text: str, span: MatchedSpan, request: EditRequest) -> tuple[int, int]:
    """Return the range to remove: a span, plus a newline that is removed together with it."""
    if request.takes_newline_after:
        end = text.find("\n", span.end)
        if end >= 0:
            return span.start, end + 1
    if request.takes_newline_before and text[span.start - 1 : span.start] == "\n":
        return span.start - 1, span.end
    return span.start, span.end


def _lines_from(text: str, start: int) -> Iterator[str]:
    while True:
        end = text.find("\n", start)
        yield text[start:] if end < 0 else text[start:end]
        if end < 0:
            return
        start = end + 1


def _find_as_written(source: SearchableText, request: EditRequest) -> Iterator[StrategyMatch]:
    """Try the strategies that take the model's text literally."""
    yield from _matches("exact", request, find_anywhere(source, request, PLAIN))
    if not request.old.strip():
        return
    variant = without_edge_newlines(source.text, request)
    if variant is not None:
        yield from _matches("edge newlines", variant, find_anywhere(source, variant, PLAIN))
    yield from _matches("end blanks", request, find_anywhere(source, request, END_BLANKS))
    variant = without_blank_edges(request)
    if variant != request:
        yield from _matches("blank edges", variant, find_anywhere(source, variant, END_BLANKS))
    yield from _matches("indentation", variant, find_reindented(source, variant, END_BLANKS))
    yield from _find_folded("spacing", source, variant, SPACING)


def _find_reinterpreted(source: SearchableText, request: EditRequest) -> Iterator[StrategyMatch]:
    """Try the strategies that reinterpret the model's text."""
    if not request.old.strip():
        return
    variant = without_escapes(request)
    if variant is not None and variant.old.strip():
        for finding in _find_as_written(source, variant):
            yield StrategyMatch("escapes", finding.request, finding.spans)
    variant = without_blank_edges(request)
    if not (source.text.isascii() and variant.old.isascii()):
        yield from _find_folded("look-alikes", source, variant, LOOKALIKES)
        if "--" in variant.old or "--" in source.text:  # "--" may represent an em dash
            yield from _find_folded("look-alikes", source, variant, LONG_DASHES)
    yield from _find_without_line_numbers(source, request)
    for strategy, plain in (
        ("code fence", without_fence(request)),
        ("diff marks", without_diff_marks(request)),
        ("HTML entities", without_entities(request)),
    ):
        if plain is not None and plain.old.strip():
            for finding in _find_as_written(source, plain):
                yield StrategyMatch(strategy, finding.request, finding.spans)
    yield from _matches("block anchor", variant, find_anchored(source, variant))


def _find_without_line_numbers(
    source: SearchableText, request: EditRequest
) -> Iterator[StrategyMatch]:
    """Try without line numbers. A single line must be at the line that its number gives."""
    numbered = without_line_numbers(request)
    if numbered is None or not numbered[0].old.strip():
        return
    variant, first = numbered
    is_single = "\n" not in variant.old.strip("\n")
    for finding in _find_as_written(source, variant):
        spans = [
            span
            for span in finding.spans
            if not is_single or line_number(source.text, span.start) == first
        ]
        yield from _matches("line numbers", finding.request, spans)


def _find_folded(
    strategy: str, source: SearchableText, request: EditRequest, fold: Fold
) -> Iterator[StrategyMatch]:
    yield from _matches(strategy, request, find_anywhere(source, request, fold))
    yield from _matches(strategy, request, find_reindented(source, request, fold))


def _matches(
    strategy: str, request: EditRequest, spans: Sequence[MatchedSpan]
) -> Iterator[StrategyMatch]:
    if spans:
        yield StrategyMatch(strategy, request, tuple(spans))
