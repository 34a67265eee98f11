"""Merges the model's changes into the file's own text.

A line that the edit does not change keeps the file's bytes, and so do the parts of a changed line
before and after the change. Only new text is the model's, with its indentation translated to the
file's.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher

from skills_store.patching.folding import BLANKS, Fold, source_columns
from skills_store.patching.indentation import indent_of
from skills_store.patching.text_search import EditRequest, MatchedSpan

_TOKEN = re.compile(r"\w+|[^\S\n]+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class KeptLine:
    """Line of the old text that is kept."""

    old_index: int


@dataclass(frozen=True, slots=True)
class NewLine:
    """Line of the new text; `old_index` is the line it replaces, if there is one."""

    line: str
    old_index: int | None


LinePlan = tuple[KeptLine | NewLine, ...]


def plan_lines(request: EditRequest) -> LinePlan:
    """Return for each line of the new text whether it is kept or new."""
    old, new = request.old.split("\n"), request.new.split("\n")
    plan: list[KeptLine | NewLine] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new).get_opcodes():
        if tag == "equal":
            plan += map(KeptLine, range(start, end))
            continue
        are_paired = end - start == new_end - new_start
        for offset, line in enumerate(new[new_start:new_end]):
            plan.append(NewLine(line, start + offset if are_paired else None))
    return tuple(plan)


def include_trailing_blanks(
    text: str, span: MatchedSpan, request: EditRequest, plan: LinePlan
) -> MatchedSpan:
    """Extend a span by the blanks after its last line, unless that line remains the last one.

    The blanks belong to that line: they stay with it if lines are added below, and are removed with
    it. A carriage return directly before the newline belongs to the line end.
    """
    last = plan[-1]
    is_kept = isinstance(last, KeptLine) or bool(last.line.strip())
    if is_kept and last.old_index == request.old.count("\n"):
        return span
    line_end = text.find("\n", span.end)
    trailing = text[span.end : None if line_end < 0 else line_end]
    if trailing.strip(BLANKS):
        return span
    return replace(span, end=span.end + len(trailing.removesuffix("\r")))


def merge_edit(text: str, span: MatchedSpan, request: EditRequest, plan: LinePlan) -> str:
    """Return the replacement for a span that matched with tolerances (blanks, quotes, ...)."""
    own_lines = text[span.start : span.end].split("\n")
    old = request.old.split("\n")
    lines = [_merge_line(step, own_lines, old, span) for step in plan]
    # The file has CRLF here, and the model writes LF: new lines get the file's line ending.
    if text.startswith("\r", span.end) or (own_lines[1:] and own_lines[0].endswith("\r")):
        lines = [*(line.removesuffix("\r") + "\r" for line in lines[:-1]), *lines[-1:]]
    if text.startswith("\r", span.end):
        lines[-1] = lines[-1].removesuffix("\r")
    return "\n".join(lines)


def _merge_line(
    step: KeptLine | NewLine, own_lines: Sequence[str], old: Sequence[str], span: MatchedSpan
) -> str:
    if isinstance(step, KeptLine):
        return own_lines[step.old_index]
    index = step.old_index
    if not step.line.strip():
        return step.line
    indent = indent_of(step.line)
    body = step.line[len(indent) :]
    if index is None or not old[index].strip():
        return span.indentation.translate(indent) + body
    own_indent, old_indent = indent_of(own_lines[index]), indent_of(old[index])
    new_indent = own_indent if indent == old_indent else span.indentation.translate(indent)
    own_body, old_body = own_lines[index][len(own_indent) :], old[index][len(old_indent) :]
    return new_indent + _transfer_change(old_body, body, own_body, span.fold)


def _transfer_change(old: str, new: str, own_line: str, fold: Fold) -> str:
    """Apply the change from `old` to `new` to `own_line`, which folds to the same text as `old`."""
    if old == new:
        return own_line
    own_line = own_line.rstrip(BLANKS)
    columns, own_columns = source_columns(old, fold), source_columns(own_line, fold)
    if columns is None or own_columns is None or fold(old) != fold(own_line):
        return new
    before, after = _common_affixes(old, new)
    folded_before, folded_after = _index(columns, before), _index(columns, len(old) - after)
    if folded_before is None or folded_after is None:
        return new
    start, end = own_columns[folded_before], own_columns[folded_after]
    if start < 0 or end < 0:
        return new
    return own_line[:start] + new[before : len(new) - after] + own_line[end:]


def _index(columns: Sequence[int], column: int) -> int | None:
    return columns.index(column) if column in columns else None


def _common_affixes(old: str, new: str) -> tuple[int, int]:
    """Return the lengths of the common prefix and suffix, in whole tokens."""
    tokens, new_tokens = _TOKEN.findall(old), _TOKEN.findall(new)
    shorter = min(len(tokens), len(new_tokens))
    before = _common(tokens, new_tokens, shorter)
    after = _common(tokens[::-1], new_tokens[::-1], shorter - before)
    return _total_length(tokens[:before]), _total_length(tokens[len(tokens) - after :])


def _common(tokens: Sequence[str], other_tokens: Sequence[str], limit: int) -> int:
    for count in range(limit):
        if tokens[count] != other_tokens[count]:
            return count
    return limit


def _total_length(tokens: Sequence[str]) -> int:
    return sum(map(len, tokens))
