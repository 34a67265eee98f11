"""One page of matching lines, collected from the stream. Keeps shown lines, counts the others."""

from collections import deque

from acp_server.tools.search.formatting import Shown, line_text
from acp_server.tools.search.globs import NamePredicate
from acp_server.tools.search.query import Query
from acp_server.tools.search.records import Line, Lines

MAX_PAGE_CHARS = 60_000
COUNTED_BYTES = 2 * 1024 * 1024


class Page:
    """The hits from `offset` on, at most `limit`, with their context lines.

    Overlapping context windows are merged. A hit of the next page within the context of this page's
    last hit is shown as context here and as a hit there.
    """

    def __init__(self, query: Query, accepts: NamePredicate) -> None:
        self._query = query
        self._accepts = accepts
        self._lines = Lines()
        self._earlier: deque[Line] = deque(maxlen=query.context)
        self._file: tuple[bytes | None, bool] = (None, False)
        self._bytes_read = 0
        self._chars = 0
        self.shown: list[Shown] = []
        self.hits: list[Shown] = []
        self.counted = 0
        self.is_full = False

    @property
    def next_offset(self) -> int:
        """Offset of the next page."""
        return self._query.offset + len(self.hits)

    @property
    def is_binary(self) -> bool:
        """Whether the search named a file that is binary."""
        return b": binary file matches" in self._lines.rest

    def feed(self, chunk: bytes) -> bool:
        """Process a chunk of output; return whether more is wanted.

        After the page is full, it continues for some bytes to count further hits. The page and the
        count depend only on the output, not on the chunk boundaries.
        """
        self._bytes_read += len(chunk)
        for line in self._lines.feed(chunk):
            if self._is_accepted(line.name):
                self._add(line)
        return not (self.is_full and self._bytes_read > COUNTED_BYTES)

    def _is_accepted(self, name: bytes) -> bool:
        if self._file[0] != name:
            path = name.removeprefix(b"./").decode("utf-8", "surrogateescape")
            self._file = (name, self._accepts(path))
        return self._file[1]

    def _add(self, line: Line) -> None:
        if line.column is not None:
            self.counted += 1
            if self.counted > self._query.offset and not self.is_full:
                self._take(line)
                return
        if self._follows_hit(line):
            self._show(line, is_hit=False)
        elif not self.is_full:
            self._earlier.append(line)

    def _take(self, line: Line) -> None:
        for earlier in self._earlier:
            if earlier.name == line.name and earlier.number >= line.number - self._query.context:
                self._show(earlier, is_hit=False)
        self._earlier.clear()
        self._show(line, is_hit=True)
        self.hits.append(self.shown[-1])
        self.is_full = len(self.hits) == self._query.limit or self._chars >= MAX_PAGE_CHARS

    def _follows_hit(self, line: Line) -> bool:
        last = self.hits[-1] if self.hits else None
        near = last is not None and line.number - last.number <= self._query.context
        return near and last is not None and line.name == last.name

    def _show(self, line: Line, *, is_hit: bool) -> None:
        text = line_text(line.text, line.column, keeps_indentation=self._query.context > 0)
        self._chars += len(text)
        self.shown.append(Shown(line.name, line.number, text, is_hit))
