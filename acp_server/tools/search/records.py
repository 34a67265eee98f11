"""Ripgrep's output, cut into records while it arrives. Knows bytes, no paths and no characters.

The plain output with a NUL behind each name is read, not `--json`: a name cannot hold a NUL and
a text line no newline, so it is as unambiguous, and it names each line's first match only. JSON
repeats every match of a line and needs base64 for other bytes.
"""

import re
from collections.abc import Iterator

from acp_server.frozen import frozen

LONG_BYTES = 4096
CONTENT = re.compile(rb"([^\0]*)\0(\d+)(?::(\d+):|-)([^\n]*)\n")
COUNT = re.compile(rb"([^\0]*)\0(\d+)\r?\n")
NAME = re.compile(rb"([^\0]*)\0")
_HEAD = re.compile(rb"([^\0]*)\0(\d+)(?::(\d+):|-)")


@frozen
class Line:
    """A line of a file. `column` is the byte its first match begins at; none for context."""

    name: bytes
    number: int
    column: int | None
    text: bytes


class Records:
    """Complete records of one shape; what is left over waits for more.

    Each begins where the one before it ended: to look for a beginning further on would take
    quadratic time in a half line.
    """

    def __init__(self, shape: re.Pattern[bytes]) -> None:
        self._shape = shape
        self._rest = b""

    def feed(self, chunk: bytes) -> Iterator[re.Match[bytes]]:
        """Yield the records that are complete by now."""
        data = self._rest + chunk
        end = 0
        self._rest = b""
        while match := self._shape.match(data, end):
            end = match.end()
            yield match
        self._rest = data[end:]


class Lines:
    """Lines of content. Of a very long one only the part around its match is kept.

    So a bundle of one 10 MB line costs the time to pipe it, and no memory.
    """

    def __init__(self) -> None:
        self._rest = bytearray()
        self._is_skipping = False

    @property
    def rest(self) -> bytes:
        """What ripgrep wrote that is no record, such as its remark on a binary file."""
        return bytes(self._rest)

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """Yield the lines that are complete by now, or long enough to be cut."""
        if self._is_skipping:
            _, newline, chunk = chunk.partition(b"\n")
            self._is_skipping = not newline
        self._rest += chunk
        if b"\n" in chunk:
            yield from self._take()
        cut = self._cut()
        if cut is not None:
            self._rest.clear()
            self._is_skipping = True
            yield cut

    def _take(self) -> Iterator[Line]:
        data = bytes(self._rest)
        end = 0
        while match := CONTENT.match(data, end):
            end = match.end()
            yield _line(match, match[4])
        del self._rest[:end]

    def _cut(self) -> Line | None:
        if len(self._rest) < LONG_BYTES:
            return None
        head = _HEAD.match(self._rest)
        if head is None:
            return None
        wanted = int(head[3] or 0) + LONG_BYTES
        if len(self._rest) - head.end() < wanted:
            return None
        return _line(head, bytes(self._rest[head.end() : head.end() + wanted]))


def _line(match: re.Match[bytes], text: bytes) -> Line:
    """Return a line; one whose match lies far behind begins shortly before it."""
    column = int(match[3]) - 1 if match[3] else None
    start = max(0, (column or 0) - LONG_BYTES)
    text = bytes(text[start : start + 2 * LONG_BYTES])
    return Line(bytes(match[1]), int(match[2]), None if column is None else column - start, text)
