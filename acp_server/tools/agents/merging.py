"""Three-way merge of a text: the changes of a sub-agent into a file that may have changed. Pure."""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from acp_server.startup.fast_dataclass import frozen_dataclass

CONTEXT_LINES = 3


@frozen_dataclass
class MergedText:
    """The text with all changes that fit, and those that did not, each as a hunk of a diff."""

    text: str
    conflicts: tuple[str, ...] = ()


def merge_text(base: str, new: str, current: str) -> MergedText:
    """Return `current` with the changes from `base` to `new`.

    A change fits if its lines, and the line before and behind it, are still those of `base`.
    """
    if current == base:
        return MergedText(new)
    old_lines, new_lines = base.splitlines(keepends=True), new.splitlines(keepends=True)
    current_lines = current.splitlines(keepends=True)
    places = _unchanged_places(old_lines, current_lines)
    conflicts: list[str] = []
    edits: list[tuple[int, int, Sequence[str]]] = []
    for first, last, lines in _changes(old_lines, new_lines):
        start = _find_unchanged(places, first, last, len(old_lines))
        if start is None:
            conflicts.append(_hunk(old_lines, first, last, lines))
        else:
            edits.append((start, start + last - first, lines))
    for start, end, lines in reversed(edits):
        current_lines[start:end] = lines
    return MergedText("".join(current_lines), tuple(conflicts))


def _changes(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int, Sequence[str]]]:
    """Yield each change: the first line of `old`, the line behind the last, the new lines."""
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield i1, i2, new[j1:j2]


def _unchanged_places(old: Sequence[str], current: Sequence[str]) -> Sequence[tuple[int, int, int]]:
    """Return the blocks that both have: where in `old`, where in `current`, how many lines."""
    blocks = SequenceMatcher(None, old, current, autojunk=False).get_matching_blocks()
    return [(block.a, block.b, block.size) for block in blocks]


def _find_unchanged(
    places: Sequence[tuple[int, int, int]], first: int, last: int, count: int
) -> int | None:
    """Return where in the current text a change belongs; None if its surroundings changed."""
    low, high = max(first - 1, 0), min(last + 1, count)
    for start, other, size in places:
        if start <= low and high <= start + size:
            return first - start + other
    return None


def _hunk(old: Sequence[str], first: int, last: int, lines: Sequence[str]) -> str:
    before = [f" {each}" for each in old[max(first - CONTEXT_LINES, 0) : first]]
    removed = [f"-{each}" for each in old[first:last]]
    added = [f"+{each}" for each in lines]
    behind = [f" {each}" for each in old[last : last + CONTEXT_LINES]]
    shown = [each.rstrip("\n") for each in (*before, *removed, *added, *behind)]
    return "\n".join((f"@@ line {first + 1} @@", *shown))
