"""Exact diffs of texts: one block for a file of ordinary size, else one block per change."""

from acp_server.text.line_diff import iter_hunks
from acp_server.turn.events import FileDiff

MAX_FULL_CHARACTERS = 256 * 1024
CONTEXT_LINES = 3


def first_changed_line(old_text: str, new_text: str) -> int:
    r"""Return the line of a new text, from 1, at which it begins to differ.

    >>> first_changed_line("a\nb\nc\n", "a\nB\nc\n")
    2
    """
    old, new = old_text.splitlines(), new_text.splitlines()
    common = min(len(old), len(new))
    same = next((n for n in range(common) if old[n] != new[n]), common)
    return max(1, min(same + 1, len(new)))


def exact_diff(path: str, old_text: str | None, new_text: str) -> tuple[FileDiff, ...]:
    """Return the change of a file: both texts in full, or one block per change with its context.

    `old_text` is None for a new file.
    """
    if old_text is None or len(old_text) + len(new_text) <= MAX_FULL_CHARACTERS:
        return (FileDiff(path, old_text, new_text),)
    old, new = old_text.splitlines(keepends=True), new_text.splitlines(keepends=True)
    hunks = iter_hunks(old, new, CONTEXT_LINES)
    return tuple(FileDiff(path, "".join(old[a:b]), "".join(new[c:d])) for a, b, c, d in hunks)
