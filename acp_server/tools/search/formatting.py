"""Formatting of results for the model, in as few characters as still identify the location.

One heading per file, then `LINE:text`; adjacent lines with the same text share one, `3,9:text`.
Indentation is removed, because it costs as much as the rest of many lines; results with context
keep it, since they are meant to show code. Context lines have a space instead of a number, blocks
are separated by `--`. Security: control characters are escaped, so that no file can style the
output or forge a hit.
"""

import os
import re
from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.search.records import LONG_LINE_BYTES

MAX_LINE_CHARS = 200
_BEFORE_MATCH_CHARS = 60

_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\udc80-\udcff]")
_FIRST_SURROGATE = 0xDC00
_LIKE_A_HIT = re.compile(r"[\d,]+:|[ \[]|--$")


@frozen_dataclass
class ShownLine:
    """A line as shown under its file's heading."""

    name: bytes
    number: int
    text: str
    is_hit: bool = True


def format_name(name: bytes) -> str:
    """Return a file name on one line; a name that looks like a hit gets `./` in front."""
    text = _escape_controls(os.fsdecode(name.removeprefix(b"./")))
    return f"./{text}" if _LIKE_A_HIT.match(text) else text


def format_line(text: bytes, column: int | None, *, keeps_indentation: bool) -> str:
    """Return a line; a long one is cut around the byte offset of its match."""
    start = len(_decode(text[: column or 0]))
    line = _decode(text).rstrip()
    if not keeps_indentation:
        start -= len(line) - len(line.lstrip())
        line = line.lstrip()
    if len(line) > MAX_LINE_CHARS:
        begin = max(0, min(start - _BEFORE_MATCH_CHARS, len(line) - MAX_LINE_CHARS))
        end = begin + MAX_LINE_CHARS
        line = f"{'…' * (begin > 0)}{line[begin:end]}{'…' * (end < len(line))}"
    return _escape_controls(line)


def format_content(lines: Sequence[ShownLine], *, has_context: bool) -> str:
    """Return hits and their context under one heading per file."""
    groups = groupby(lines, key=lambda line: line.name)
    render = _context_blocks if has_context else _merged_lines
    return "\n".join("\n".join((format_name(name), *render(list(group)))) for name, group in groups)


def format_listing(names: Sequence[bytes]) -> str:
    """Return names in order; neighbours share their directory where that is shorter."""
    lines: list[str] = []
    shown_names = map(format_name, names)
    for folder, group in groupby(shown_names, key=lambda path: path[: path.rfind("/") + 1]):
        paths = list(group)
        if len(paths) * len(folder) > len(folder) + 1 + len(paths):
            lines += (folder, *(f" {path.removeprefix(folder)}" for path in paths))
        else:
            lines += paths
    return "\n".join(lines)


def format_counts(counts: Iterable[tuple[bytes, int]]) -> str:
    """Return the number of matching lines per file."""
    return "\n".join(f"{format_name(name)}: {count}" for name, count in counts)


def _merged_lines(lines: Sequence[ShownLine]) -> Iterable[str]:
    for text, group in groupby(lines, key=lambda line: line.text):
        yield f"{','.join(str(line.number) for line in group)}:{text}"


def _context_blocks(lines: Sequence[ShownLine]) -> Iterable[str]:
    yield _context_line(lines[0])
    for previous, line in pairwise(lines):
        if line.number > previous.number + 1:
            yield "--"
        yield _context_line(line)


def _context_line(line: ShownLine) -> str:
    return f"{line.number}:{line.text}" if line.is_hit else f" {line.text}".rstrip()


def _decode(text: bytes) -> str:
    """Return UTF-8 text; bytes that are not UTF-8 are taken for Windows-1252."""
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError:  # a long line may only be cut inside a UTF-8 sequence
        return text.decode("utf-8" if len(text) >= LONG_LINE_BYTES else "cp1252", "replace")


def _escape_controls(text: str) -> str:
    return _CONTROL.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code >= _FIRST_SURROGATE:  # surrogateescape: a byte that is not UTF-8
        return f"\\x{code - _FIRST_SURROGATE:02x}"
    return match[0].encode("unicode_escape").decode("ascii")


def format_footer(total: int | None, next_offset: int, stop_reason: str) -> str:
    """Return the last line of a page that tells how to get more; empty if there is no more."""
    if stop_reason:
        return f"[{stop_reason}]"
    if total is None:
        return f"[more: offset={next_offset}]"
    return f"[{total - next_offset} more: offset={next_offset}]" if total > next_offset else ""
