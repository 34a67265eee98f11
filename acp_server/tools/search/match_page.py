"""One page of matching lines, collected from the stream. Keeps shown lines, counts the others."""

from collections import deque

from acp_server.tools.search.formatting import ShownLine, format_line
from acp_server.tools.search.globs import NamePredicate
from acp_server.tools.search.query import FileSearchQuery
from acp_server.tools.search.records import MatchLine, MatchLineParser, decode_name

MAX_PAGE_CHARS = 60_000
COUNT_AHEAD_BYTES = 2 * 1024 * 1024


class MatchPage:
    """The hits from `offset` on, at most `limit`, with their context lines.

    Overlapping context windows are merged. A hit of the next page within the context of this page's
    last hit is shown as context here and as a hit there.
    """

    def __init__(self, query: FileSearchQuery, accepts: NamePredicate) -> None:
        self._query = query
        self._accepts = accepts
        self._parser = MatchLineParser()
        self._pending_context: deque[MatchLine] = deque(maxlen=query.context)
        self._current_file: tuple[bytes | None, bool] = (None, False)
        self._bytes_read = 0
        self._shown_chars = 0
        self.shown_lines: list[ShownLine] = []
        self.hits: list[ShownLine] = []
        self.match_count = 0
        self.is_full = False

    @property
    def next_offset(self) -> int:
        """Offset of the next page."""
        return self._query.offset + len(self.hits)

    @property
    def is_binary(self) -> bool:
        """Whether the search named a file that is binary."""
        return b": binary file matches" in self._parser.unparsed

    def feed(self, chunk: bytes) -> bool:
        """Process a chunk of output; return whether more is wanted.

        After the page is full, it continues for some bytes to count further hits. The page and the
        count depend only on the output, not on the chunk boundaries.
        """
        self._bytes_read += len(chunk)
        for line in self._parser.feed(chunk):
            if self._is_accepted(line.name):
                self._add_line(line)
        return not (self.is_full and self._bytes_read > COUNT_AHEAD_BYTES)

    def _is_accepted(self, name: bytes) -> bool:
        if self._current_file[0] != name:
            self._current_file = (name, self._accepts(decode_name(name)))
        return self._current_file[1]

    def _add_line(self, line: MatchLine) -> None:
        if line.column is not None:
            self.match_count += 1
            if self.match_count > self._query.offset and not self.is_full:
                self._add_hit(line)
                return
        last = self.hits[-1] if self.hits else line
        distance = line.number - last.number
        if self.hits and line.name == last.name and distance <= self._query.context:
            self._show_line(line, is_hit=False)
        elif not self.is_full:
            self._pending_context.append(line)

    def _add_hit(self, line: MatchLine) -> None:
        for earlier in self._pending_context:
            if earlier.name == line.name and earlier.number >= line.number - self._query.context:
                self._show_line(earlier, is_hit=False)
        self._pending_context.clear()
        self._show_line(line, is_hit=True)
        self.hits.append(self.shown_lines[-1])
        self.is_full = len(self.hits) == self._query.limit or self._shown_chars >= MAX_PAGE_CHARS

    def _show_line(self, line: MatchLine, *, is_hit: bool) -> None:
        text = format_line(line.text, line.column, keeps_indentation=self._query.context > 0)
        self._shown_chars += len(text)
        self.shown_lines.append(ShownLine(line.name, line.number, text, is_hit))
