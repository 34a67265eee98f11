"""What a command printed, in bounded memory, and what a model is to see of it.

Knows no process: bytes come in, text comes out.
"""

import re

_CONTINUATION = range(0b1000_0000, 0b1100_0000)
"""The bytes of a character behind its first."""


class OutputLog:
    """The beginning and the end of a stream of bytes; how much it was in all."""

    def __init__(self, head_bytes: int, tail_bytes: int) -> None:
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def write(self, chunk: bytes) -> None:
        """Take what was printed next."""
        self.total_bytes += len(chunk)
        room = self._head_bytes - len(self._head)
        if room > 0:
            self._head += chunk[:room]
            chunk = chunk[room:]
        if len(chunk) > self._tail_bytes:
            chunk = chunk[len(chunk) - self._tail_bytes :]
        self._tail += chunk
        if len(self._tail) > 2 * self._tail_bytes:  # seldom, so that small chunks stay cheap
            self._trim()

    def text(self) -> str:
        """Return the output as text; a line in its middle says how many bytes are left out."""
        self._trim()
        if self.total_bytes == len(self._head) + len(self._tail):
            return decoded(self._head + self._tail)
        head = without_last_part(bytes(self._head))
        tail = without_first_part(bytes(self._tail))
        left_out = self.total_bytes - len(head) - len(tail)
        return _joined(decoded(head), f"{left_out:,} bytes", decoded(tail))

    def _trim(self) -> None:
        del self._tail[: max(len(self._tail) - self._tail_bytes, 0)]


def decoded(data: bytes | bytearray) -> str:
    """Return UTF-8 as text; what is none becomes U+FFFD."""
    return data.decode("utf-8", "replace")


def without_first_part(data: bytes) -> bytes:
    """Return bytes without the end of a character that began before them."""
    start = 0
    while start < min(len(data), 3) and data[start] in _CONTINUATION:
        start += 1
    return data[start:]


def without_last_part(data: bytes) -> bytes:
    """Return bytes without the beginning of a character that ends after them."""
    for length in range(1, min(len(data), 3) + 1):
        byte = data[-length]
        if byte not in _CONTINUATION:
            return data[:-length] if _character_bytes(byte) > length else data
    return data


def _character_bytes(first: int) -> int:
    """Return how many bytes a character has that begins so."""
    starts = ((0b1111_0000, 4), (0b1110_0000, 3), (0b1100_0000, 2))
    return next((length for start, length in starts if first >= start), 1)


_ESCAPES = re.compile(
    r"""
      (?:\x1b\[|\x9b) [0-?]*+ [\ -/]*+ [@-~]        # colours, the cursor, erasing
    | \x1b\] [^\x07\x1b\n]*+ (?:\x07|\x1b\\)        # titles and links
    | \x1b[PX^_] [^\x1b]*+ \x1b\\                   # pictures and private strings
    | \x1b [\ -/]*+ [0-~]                           # character sets and the like
    | \x1b                                          # one that nothing follows
    """,
    re.VERBOSE,
)
"""No part can begin where another repeats, and none gives back: linear on whatever comes."""

_ERASE_LINE = re.compile(r"(?:\x1b\[|\x9b)2K")
_ERASE_RIGHT = re.compile(r"(?:\x1b\[|\x9b)0?K")


def for_model(text: str, limit: int) -> str:
    """Return a text without escape sequences and without what was overwritten on its line.

    Of what remains, at most `limit` characters are kept, half of them from each end.
    """
    shown = "\n".join(_visible(line) for line in text.split("\n"))
    if len(shown) <= limit:
        return shown
    head, tail = limit - limit // 2, limit // 2
    left_out = f"{len(shown) - limit:,} characters"
    return _joined(shown[:head], left_out, shown[len(shown) - tail :])


def _visible(line: str) -> str:
    """Return what stands on a line at its end: each part begins at its left, over the others."""
    shown = ""
    for part in reversed(line.split("\r")):
        *_, lasting = _ERASE_LINE.split(part)
        shown += _ESCAPES.sub("", lasting)[len(shown) :]
        if len(lasting) < len(part) or _ERASE_RIGHT.search(part):
            break
    return shown


def _joined(head: str, left_out: str, tail: str) -> str:
    """Join the two ends of a text, with a line between them that says what is missing."""
    newline = "" if not head or head.endswith("\n") else "\n"
    return f"{head}{newline}[... {left_out} left out ...]\n{tail}"
