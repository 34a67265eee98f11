"""Exact diffs of texts: one block for a file of ordinary size, else one block per change."""

from acp_server.text.line_diff import iter_hunks
from acp_server.turn.events import FileDiff

MAX_FULL_CHARACTERS = 256 * 1024
CONTEXT_LINES = 3


def exact_diff(path: str, old_text: str | None, new_text: str) -> tuple[FileDiff, ...]:
    """Return the change of a file: both texts in full, or one block per change with its context.

    `old_text` is None for a new file.
    """
    if old_text is None or len(old_text) + len(new_text) <= MAX_FULL_CHARACTERS:
        return (FileDiff(path, old_text, new_text),)
    old, new = old_text.splitlines(keepends=True), new_text.splitlines(keepends=True)
    hunks = iter_hunks(old, new, CONTEXT_LINES)
    return tuple(FileDiff(path, "".join(old[a:b]), "".join(new[c:d])) for a, b, c, d in hunks)
