"""Latest output of a background command, addressable by bytes and by lines.

Independent of processes: bytes in, text out.
"""

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.output import Spill, decode_utf8, strip_partial_end, strip_partial_start


@frozen_dataclass
class OutputExcerpt:
    """Consecutive output lines; `first` is 0-based and counts all lines ever printed."""

    first: int
    lines: tuple[str, ...]
    total_lines: int


@frozen_dataclass
class NewOutput:
    """Output since the previous call, and the number of bytes before it that were dropped."""

    text: str
    lost_bytes: int


class RecentOutput:
    """Ring buffer for the last bytes of an output; its counters cover the whole output."""

    def __init__(self, capacity_bytes: int, spill: Spill | None = None) -> None:
        """Create it; `spill` receives the whole output once the first bytes are dropped here."""
        self._spill = spill
        self._capacity_bytes = capacity_bytes
        self._buffer = bytearray()
        self._delivered_bytes = 0
        self._newlines = 0
        self._ends_with_newline = True
        self.total_bytes = 0

    def write(self, chunk: bytes) -> None:
        """Append a chunk of output."""
        if self._spill is not None and self.total_bytes + len(chunk) > self._capacity_bytes:
            if self.total_bytes <= self._capacity_bytes:
                self._spill.write(self._buffer)
            self._spill.write(chunk)
        self.total_bytes += len(chunk)
        self._newlines += chunk.count(b"\n")
        self._ends_with_newline = not chunk or chunk.endswith(b"\n")
        self._buffer += chunk
        del self._buffer[: max(len(self._buffer) - self._capacity_bytes, 0)]

    @property
    def total_lines(self) -> int:
        """Number of lines printed, including a last line without a newline."""
        return self._newlines + (not self._ends_with_newline)

    def all_text(self) -> str:
        """Return what is held."""
        return decode_utf8(self._buffer)

    def new_text(self) -> str:
        """Return the output since the last call of `take_new`, as far as it is held."""
        new_bytes = self.total_bytes - self._delivered_bytes
        return decode_utf8(self._buffer[max(len(self._buffer) - new_bytes, 0) :])

    def take_new(self, *, is_last: bool) -> NewOutput:
        """Return the output since the last call.

        Unless `is_last`, an incomplete UTF-8 sequence at the end is held back for the next call.
        """
        buffer_start = self.total_bytes - len(self._buffer)
        begin = max(self._delivered_bytes, buffer_start)
        new_bytes = bytes(self._buffer[begin - buffer_start :])
        if begin > self._delivered_bytes:
            # Bytes were dropped, so the buffer may begin inside a UTF-8 sequence.
            new_bytes = strip_partial_start(new_bytes)
            begin = self.total_bytes - len(new_bytes)
        if not is_last:
            new_bytes = strip_partial_end(new_bytes)
        lost_bytes = begin - self._delivered_bytes
        self._delivered_bytes = begin + len(new_bytes)
        return NewOutput(decode_utf8(new_bytes), lost_bytes)

    def excerpt(self, offset: int | None, limit: int) -> OutputExcerpt:
        """Return up to `limit` buffered lines from line `offset`; the last ones if it is None."""
        lines = decode_utf8(self._buffer).split("\n")
        if self._ends_with_newline:
            lines.pop()
        first_buffered = self.total_lines - len(lines)
        first = self.total_lines - limit if offset is None else offset
        first = min(max(first, first_buffered), self.total_lines)
        chosen = lines[first - first_buffered :][:limit]
        return OutputExcerpt(
            first, tuple(line.removesuffix("\r") for line in chosen), self.total_lines
        )
