"""Latest output of a background command, addressable by bytes and by lines.

Independent of processes: bytes in, text out.
"""

from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.shell.output import decoded, without_first_part, without_last_part


@frozen
class Excerpt:
    """Consecutive output lines; `first` is 0-based and counts all lines ever printed."""

    first: int
    lines: tuple[str, ...]
    total_lines: int


@frozen
class News:
    """Output since the previous call, and the number of bytes before it that were dropped."""

    text: str
    lost_bytes: int


class Backlog:
    """Ring buffer for the last bytes of an output; its counters cover the whole output."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._kept = bytearray()
        self._seen_bytes = 0
        self._newlines = 0
        self._is_whole = True
        self.total_bytes = 0

    def write(self, chunk: bytes) -> None:
        """Append a chunk of output."""
        self.total_bytes += len(chunk)
        self._newlines += chunk.count(b"\n")
        self._is_whole = not chunk or chunk.endswith(b"\n")
        self._kept += chunk
        del self._kept[: max(len(self._kept) - self._capacity_bytes, 0)]

    @property
    def total_lines(self) -> int:
        """Number of lines printed, including a last line without a newline."""
        return self._newlines + (not self._is_whole)

    def news(self, *, is_last: bool) -> News:
        """Return the output since the last call.

        Unless `is_last`, an incomplete UTF-8 sequence at the end is held back for the next call.
        """
        start = self.total_bytes - len(self._kept)
        begin = max(self._seen_bytes, start)
        fresh = bytes(self._kept[begin - start :])
        if begin > self._seen_bytes:
            # Bytes were dropped, so the buffer may begin inside a UTF-8 sequence.
            fresh = without_first_part(fresh)
            begin = self.total_bytes - len(fresh)
        if not is_last:
            fresh = without_last_part(fresh)
        lost_bytes = begin - self._seen_bytes
        self._seen_bytes = begin + len(fresh)
        return News(decoded(fresh), lost_bytes)

    def excerpt(self, offset: int | None, limit: int) -> Excerpt:
        """Return up to `limit` buffered lines from line `offset`; the last ones if it is None."""
        lines = decoded(self._kept).split("\n")
        if self._is_whole:
            lines.pop()
        first_kept = self.total_lines - len(lines)
        first = self.total_lines - limit if offset is None else offset
        first = min(max(first, first_kept), self.total_lines)
        chosen = lines[first - first_kept :][:limit]
        return Excerpt(first, tuple(line.removesuffix("\r") for line in chosen), self.total_lines)
