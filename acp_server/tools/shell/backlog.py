"""The latest output of a command that nobody waits for, by bytes and by lines.

Knows no process; bytes come in, text comes out.
"""

from acp_server.frozen import frozen
from acp_server.tools.shell.output import decoded, without_first_part, without_last_part


@frozen
class Excerpt:
    """Consecutive lines of an output; `first` counts from 0, over all that was ever printed."""

    first: int
    lines: tuple[str, ...]
    total_lines: int


@frozen
class News:
    """What was printed since somebody last looked; how much of it had to be left out before."""

    text: str
    lost_bytes: int


class Backlog:
    """The last bytes of an output; counts all of it."""

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity_bytes = capacity_bytes
        self._kept = bytearray()
        self._seen_bytes = 0
        self._newlines = 0
        self._is_whole = True
        self.total_bytes = 0

    def write(self, chunk: bytes) -> None:
        """Take what was printed next."""
        self.total_bytes += len(chunk)
        self._newlines += chunk.count(b"\n")
        self._is_whole = not chunk or chunk.endswith(b"\n")
        self._kept += chunk
        del self._kept[: max(len(self._kept) - self._capacity_bytes, 0)]

    @property
    def total_lines(self) -> int:
        """How many lines were printed, the last one counting before it is whole."""
        return self._newlines + (not self._is_whole)

    def news(self, *, is_last: bool) -> News:
        """Return what is new since the last call; half a character waits for its other half."""
        start = self.total_bytes - len(self._kept)
        begin = max(self._seen_bytes, start)
        fresh = bytes(self._kept[begin - start :])
        if begin > self._seen_bytes:
            fresh = without_first_part(fresh)
            begin = self.total_bytes - len(fresh)
        if not is_last:
            fresh = without_last_part(fresh)
        lost_bytes = begin - self._seen_bytes
        self._seen_bytes = begin + len(fresh)
        return News(decoded(fresh), lost_bytes)

    def excerpt(self, offset: int | None, limit: int) -> Excerpt:
        """Return up to `limit` lines from line `offset` on, or the last ones; those still kept."""
        lines = decoded(self._kept).split("\n")
        if self._is_whole:
            lines.pop()
        first_kept = self.total_lines - len(lines)
        first = self.total_lines - limit if offset is None else offset
        first = min(max(first, first_kept), self.total_lines)
        chosen = lines[first - first_kept :][:limit]
        return Excerpt(first, tuple(line.removesuffix("\r") for line in chosen), self.total_lines)
