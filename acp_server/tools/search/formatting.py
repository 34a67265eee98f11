"""Formatting of results for the model, in as few characters as still identify the location.

One heading per file, then `LINE:text`; adjacent lines with the same text share one, `3,9:text`.
Context lines have a space instead of a number, blocks are separated by `--`. The last line of a
page says how many more matches there are in which files. Security: control characters are escaped,
so that no file can style the output or forge a hit.
"""

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby, pairwise, takewhile

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.search.records import LONG_LINE_BYTES

MAX_LINE_CHARS = 200
MAX_COUNTED = 8
"""How many of the files or directories with further items are named below a page."""
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


def format_line(text: bytes, column: int | None) -> str:
    """Return a line with its indentation; a long one is cut around the byte offset of its match."""
    start = len(_decode(text[: column or 0]))
    line = _decode(text).rstrip()
    if len(line) > MAX_LINE_CHARS:
        begin = max(0, min(start - _BEFORE_MATCH_CHARS, len(line) - MAX_LINE_CHARS))
        end = begin + MAX_LINE_CHARS
        line = f"{'…' * (begin > 0)}{line[begin:end]}{'…' * (end < len(line))}"
    return _escape_controls(line)


def format_content(
    lines: Sequence[ShownLine],
    *,
    has_context: bool,
    symbols: Mapping[tuple[bytes, int], str] | None = None,
) -> str:
    """Return hits and their context under one heading per file.

    `symbols` are the names of what a line is inside of, by file and line number. They are shown
    without context only.
    """
    groups = groupby(lines, key=lambda line: line.name)
    render = _context_blocks if has_context else partial(_merged_lines, symbols=symbols or {})
    return "\n".join("\n".join((format_name(name), *render(list(group)))) for name, group in groups)


def format_listing(names: Sequence[bytes]) -> str:
    """Return names in order; neighbors share their directory where that is shorter."""
    return _share_directories([*map(format_name, names)])


def format_counts(counts: Iterable[tuple[bytes, int]]) -> str:
    """Return the number of matching lines per file, in the form of a listing."""
    return _share_directories([f"{format_name(name)}:{count}" for name, count in counts])


def _share_directories(names: Sequence[str]) -> str:
    lines: list[str] = []
    for folder, group in groupby(names, key=lambda path: path[: path.rfind("/") + 1]):
        paths = list(group)
        if len(paths) * len(folder) > len(folder) + 1 + len(paths):
            lines += (folder, *(f" {path.removeprefix(folder)}" for path in paths))
        else:
            lines += paths
    return "\n".join(lines)


def count_by_directory(names: Iterable[bytes]) -> Mapping[bytes, int]:
    """Return the number of names by directory: the one that all share, and those just below."""
    paths = [name.removeprefix(b"./").split(b"/")[:-1] for name in names]
    ends = zip(min(paths), max(paths), strict=False) if paths else ()
    depth = len([*takewhile(lambda parts: parts[0] == parts[1], ends)]) + 1
    return Counter(b"".join(part + b"/" for part in path[:depth]) or b"." for path in paths)


def _merged_lines(
    lines: Sequence[ShownLine], symbols: Mapping[tuple[bytes, int], str]
) -> Iterable[str]:
    def key(line: ShownLine) -> tuple[str, str]:
        return symbols.get((line.name, line.number), ""), line.text

    shown_symbol = ""
    for (symbol, text), group in groupby(lines, key=key):
        if symbol and symbol != shown_symbol:
            yield f"[in {symbol}]"
        shown_symbol = symbol
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


def format_footer(
    total: int | None, next_offset: int, stop_reason: str, left: Mapping[bytes, int] | None = None
) -> str:
    """Return the last line of a page that tells how to get more; empty if there is no more.

    `left` are the numbers of further items by file or directory; used only if `total` is known.
    """
    if stop_reason:
        return f"[{stop_reason}]"
    if total is not None and total <= next_offset:
        return ""
    if total is None:
        return f"[more: offset={next_offset}]"
    counts = f"; {_format_left(left)}" if left else ""
    return f"[{total - next_offset} more: offset={next_offset}{counts}]"


def _format_left(left: Mapping[bytes, int]) -> str:
    """Return numbers by name on one line; neighbors share their directory."""
    shown = [(format_name(name), left[name]) for name in [*left][:MAX_COUNTED]]
    parts: list[str] = []
    for folder, group in groupby(shown, key=lambda each: each[0][: each[0].rfind("/", 0, -1) + 1]):
        items = [f"{name.removeprefix(folder)} {count}" for name, count in group]
        is_shared = folder and len(items) > 1
        parts.append(
            f"{folder}: {', '.join(items)}" if is_shared else f"{folder}{', '.join(items)}"
        )
    more = len(left) - len(shown)
    return "; ".join(parts) + (f"; and {more} more" if more else "")
