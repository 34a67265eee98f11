"""Output of a command in bounded memory, and its rendering for the model.

Independent of processes: bytes in, text out.
"""

import codecs
import re
from typing import Protocol

_CONTINUATION_BYTES = range(0b1000_0000, 0b1100_0000)
"""UTF-8 continuation bytes."""


_NUL_SEPARATED = re.compile(r"[^\0-\x08\x0e-\x1a]*(?:\0[^\0-\x08\x0e-\x1a]+)*\0?")
"""Text whose lines end with NUL, as those of `git ls-files -z`."""
_SAMPLE_CHARACTERS = 4_096
_MAX_NUL_SHARE, _MAX_UNDECODABLE_SHARE = 0.01, 0.2


class Spill(Protocol):
    """Takes a whole output once it is longer than what is held in memory."""

    def write(self, data: bytes | bytearray) -> None:
        """Take the next piece."""
        ...


class OutputLog:
    """The beginning and the end of a byte stream, and its total size."""

    def __init__(self, head_bytes: int, tail_bytes: int, spill: Spill | None = None) -> None:
        """Create it; `spill` receives the whole stream as soon as its middle is lost here."""
        self._spill = spill
        self._head_bytes = head_bytes
        self._tail_bytes = tail_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self.total_bytes = 0

    def write(self, chunk: bytes) -> None:
        """Append a chunk of output."""
        if self._spill is not None and self.total_bytes + len(chunk) > self.capacity_bytes:
            if self.total_bytes <= self.capacity_bytes:
                self._spill.write(self._head + self._tail)
            self._spill.write(chunk)
        self.total_bytes += len(chunk)
        available = self._head_bytes - len(self._head)
        if available > 0:
            self._head += chunk[:available]
            chunk = chunk[available:]
        if len(chunk) > self._tail_bytes:
            chunk = chunk[len(chunk) - self._tail_bytes :]
        self._tail += chunk
        # Trim only at twice the limit: trimming for each small chunk would cost quadratic time.
        if len(self._tail) > 2 * self._tail_bytes:
            self._trim()

    @property
    def capacity_bytes(self) -> int:
        """Number of bytes up to which the stream is held whole."""
        return self._head_bytes + self._tail_bytes

    @property
    def is_complete(self) -> bool:
        """Whether the whole stream is still held."""
        return self.total_bytes <= self.capacity_bytes

    def text(self) -> str:
        """Return the output as text; a line in the middle tells how many bytes were left out."""
        self._trim()
        if self.total_bytes == len(self._head) + len(self._tail):
            return decode_utf8(self._head + self._tail)
        head = strip_partial_end(bytes(self._head))
        tail = strip_partial_start(bytes(self._tail))
        omitted_bytes = self.total_bytes - len(head) - len(tail)
        return _join_ends(decode_utf8(head), f"{omitted_bytes:,} bytes", decode_utf8(tail))

    def _trim(self) -> None:
        del self._tail[: max(len(self._tail) - self._tail_bytes, 0)]


def is_binary(text: str) -> bool:
    """Return whether decoded output was no text: many NUL bytes, or bytes that are not UTF-8."""
    if text.count("\ufffd") > _MAX_UNDECODABLE_SHARE * len(text):
        return True
    if text.count("\0") <= _MAX_NUL_SHARE * len(text):
        return False
    return not _NUL_SEPARATED.fullmatch(text[:_SAMPLE_CHARACTERS])


def describe_binary(total_bytes: int) -> str:
    """Return what the model gets instead of binary output."""
    return f"binary output, {total_bytes:,} bytes"


def decode_utf8(data: bytes | bytearray) -> str:
    """Return bytes decoded as UTF-8; invalid sequences become U+FFFD."""
    return data.decode("utf-8", "replace")


def strip_partial_start(data: bytes) -> bytes:
    """Return the bytes without an incomplete UTF-8 sequence at their start."""
    start = 0
    while start < min(len(data), 3) and data[start] in _CONTINUATION_BYTES:
        start += 1
    return data[start:]


def strip_partial_end(data: bytes) -> bytes:
    """Return the bytes without an incomplete UTF-8 sequence at their end."""
    return data[: codecs.utf_8_decode(data, "replace", False)[1]]  # noqa: FBT003  positional only


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
"""Linear on any input: no part can start where another one repeats, and the quantifiers are
possessive, so nothing backtracks."""

_ERASE_LINE = re.compile(r"(?:\x1b\[|\x9b)2K")
_ERASE_RIGHT = re.compile(r"(?:\x1b\[|\x9b)0?K")


def render_for_model(text: str, limit: int) -> str:
    """Return text without escape sequences and without text that was overwritten on its line.

    At most `limit` characters of the rest are kept, half of them from each end.
    """
    shown = "\n".join(_visible_line(line) for line in text.split("\n"))
    if len(shown) <= limit:
        return shown
    head, tail = limit - limit // 2, limit // 2
    omitted = f"{len(shown) - limit:,} characters"
    return _join_ends(shown[:head], omitted, shown[len(shown) - tail :])


def _visible_line(line: str) -> str:
    """Return the final text of a line: each part after a CR overwrites the line from its left."""
    shown = ""
    for part in reversed(line.split("\r")):
        *_, remaining = _ERASE_LINE.split(part)
        shown += _ESCAPES.sub("", remaining)[len(shown) :]
        if len(remaining) < len(part) or _ERASE_RIGHT.search(part):
            break
    return shown


def _join_ends(head: str, omitted: str, tail: str) -> str:
    """Join the two ends of a text with a line that tells how much was left out."""
    newline = "" if not head or head.endswith("\n") else "\n"
    return f"{head}{newline}[... {omitted} left out ...]\n{tail}"
