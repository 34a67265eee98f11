"""The preview of a rename: the changed lines as a patch. Changes nothing."""

from collections.abc import Sequence

from acp_server.text.line_diff import iter_hunks

CONTEXT_LINES = 1


def replace_name(
    lines: Sequence[str], places: Sequence[tuple[int, int]], old: str, new: str
) -> list[str]:
    """Return lines with a name replaced at places: lines from 1, columns in bytes from 0."""
    changed = [*lines]
    old_size = len(old.encode("utf-8", "surrogatepass"))
    # From the end, so that earlier columns stay right.
    for line, column in sorted(places, reverse=True):
        data = changed[line - 1].encode("utf-8", "surrogatepass")
        after = data[column + old_size :].decode("utf-8", "surrogatepass")
        changed[line - 1] = data[:column].decode("utf-8", "surrogatepass") + new + after
    return changed


def format_file_patch(name: str, old: Sequence[str], new: Sequence[str]) -> str:
    """Return the change of a file in the form that `patch` takes, without its first line."""
    parts = [f"*** Update File: {name}"]
    for old_start, old_end, new_start, new_end in iter_hunks(old, new, CONTEXT_LINES):
        parts.append("@@")
        before, after = old[old_start:old_end], new[new_start:new_end]
        parts += _hunk_lines(before, after)
    return "\n".join(parts)


def _hunk_lines(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the lines of a hunk; a rename changes lines, and adds or removes none."""
    if len(before) != len(after):
        return [*(f"-{each}" for each in before), *(f"+{each}" for each in after)]
    lines: list[str] = []
    for old, new in zip(before, after, strict=True):
        lines += [f" {old}"] if old == new else [f"-{old}", f"+{new}"]
    return lines
