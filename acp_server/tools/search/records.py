"""Incremental parser for ripgrep's output. Handles bytes, neither paths nor text encodings.

It parses plain output with a NUL after each name instead of `--json`: a name cannot contain NUL and
a line cannot contain a newline, so it is just as unambiguous, and it reports only the first match
of a line. JSON repeats each match of a line and needs base64 for bytes that are not UTF-8.
"""

import math
import re
from collections.abc import Iterator

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.search.globs import NamePredicate

LONG_LINE_BYTES = 4096
CONTENT_RECORD = re.compile(rb"([^\0]*)\0(\d+)(?::(\d+):|-)([^\n]*)\n")
COUNT_RECORD = re.compile(rb"([^\0]*)\0(\d+)\r?\n")
NAME_RECORD = re.compile(rb"([^\0]*)\0")
_CONTENT_HEAD = re.compile(rb"([^\0]*)\0(\d+)(?::(\d+):|-)")


def decode_name(name: bytes) -> str:
    """Return a file name as ripgrep writes it as a relative path."""
    return name.removeprefix(b"./").decode("utf-8", "surrogateescape")


@frozen_dataclass
class MatchLine:
    """A line of a file. `column` is the byte offset of its first match; None for context lines."""

    name: bytes
    number: int
    column: int | None
    text: bytes


class FileCollector:
    """Collects the files of records of one shape, with their counts if the records have counts.

    Each record must begin where the previous one ended: searching for a start further on would take
    quadratic time in an incomplete line.
    """

    def __init__(
        self, pattern: re.Pattern[bytes], accepts: NamePredicate, max_files: float = math.inf
    ) -> None:
        self._pattern = pattern
        self._accepts = accepts
        self._max_files = max_files
        self._unparsed = b""
        self.files: list[tuple[bytes, int]] = []

    def feed(self, chunk: bytes) -> bool:
        """Collect from a chunk, whose incomplete last record waits; return if more is wanted."""
        data = self._unparsed + chunk
        end = 0
        while match := self._pattern.match(data, end):
            end = match.end()
            if self._accepts(decode_name(match[1])):
                count = int(match[2]) if self._pattern is COUNT_RECORD else 0
                self.files.append((match[1], count))
        self._unparsed = data[end:]
        return len(self.files) < self._max_files


class MatchLineParser:
    """Parser for content lines. Of a very long line only the part around its match is kept.

    So a bundle with one line of 10 MB costs the time to pipe it, and no memory.
    """

    def __init__(self) -> None:
        self._unparsed = bytearray()
        self._is_skipping = False

    @property
    def unparsed(self) -> bytes:
        """Output that is no record, such as ripgrep's remark about a binary file."""
        return bytes(self._unparsed)

    def feed(self, chunk: bytes) -> Iterator[MatchLine]:
        """Yield lines that are complete or long enough to be cut."""
        if self._is_skipping:
            _, newline, chunk = chunk.partition(b"\n")
            self._is_skipping = not newline
        self._unparsed += chunk
        if b"\n" in chunk:
            data = bytes(self._unparsed)
            end = 0
            while match := CONTENT_RECORD.match(data, end):
                end = match.end()
                yield _build_line(match, match[4])
            del self._unparsed[:end]
        cut_line = self._cut_long_line()
        if cut_line is not None:
            self._unparsed.clear()
            self._is_skipping = True
            yield cut_line

    def _cut_long_line(self) -> MatchLine | None:
        if len(self._unparsed) < LONG_LINE_BYTES:
            return None
        head = _CONTENT_HEAD.match(self._unparsed)
        if head is None:
            return None
        text_bytes = int(head[3] or 0) + LONG_LINE_BYTES
        if len(self._unparsed) - head.end() < text_bytes:
            return None
        return _build_line(head, bytes(self._unparsed[head.end() : head.end() + text_bytes]))


def _build_line(match: re.Match[bytes], text: bytes) -> MatchLine:
    """Return a line; if its match is far into it, its text begins shortly before the match."""
    column = int(match[3]) - 1 if match[3] else None
    start = max(0, (column or 0) - LONG_LINE_BYTES)
    text = bytes(text[start : start + 2 * LONG_LINE_BYTES])
    return MatchLine(
        bytes(match[1]), int(match[2]), None if column is None else column - start, text
    )
