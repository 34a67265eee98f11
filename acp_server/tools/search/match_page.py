"""One page of matching lines, collected from the stream. Keeps shown lines, counts the others.

Lines of source come first. Those of tests, docs and lock files are held back until the stream has
ended, as many of them as the page could show.
"""

from collections import Counter, deque

from acp_server.tools.search.formatting import ShownLine, format_line
from acp_server.tools.search.globs import NamePredicate
from acp_server.tools.search.query import FileSearchQuery
from acp_server.tools.search.ranking import MAX_RANK, path_rank
from acp_server.tools.search.records import MatchLine, MatchLineParser, decode_name

MAX_PAGE_CHARS = 60_000
COUNT_AHEAD_BYTES = 2 * 1024 * 1024
HELD_BACK_BYTES = 8 * 1024 * 1024
"""How far source is looked for while lines of other files would already fill the page."""


class _HeldBack:
    """The first lines of the files of one rank, and the number of further matches."""

    def __init__(self) -> None:
        self.lines: list[MatchLine] = []
        self.dropped_matches = Counter[bytes]()
        """The number of matches of which only that is kept, by file."""
        self.matches = 0

    def add(self, line: MatchLine, max_matches: int) -> None:
        is_match = line.column is not None
        if self.matches >= max_matches + 1:
            if is_match:
                self.dropped_matches[line.name] += 1
            return
        self.matches += is_match
        self.lines.append(line)


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
        self._current_file: tuple[bytes | None, int | None] = (None, None)
        """The name of the file in the stream, and its rank if it is accepted."""
        self._held_back = [_HeldBack() for _ in range(MAX_RANK)]
        self._bytes_read = 0
        self._shown_chars = 0
        self.shown_lines: list[ShownLine] = []
        self.hits: list[ShownLine] = []
        self.match_count = 0
        self.matches_left = Counter[bytes]()
        """The number of matches behind the page, by file."""
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
            rank = self._rank(line.name)
            if rank == 0:
                self._add_line(line)
            elif rank is not None:
                self._held_back[rank - 1].add(line, self._query.offset + self._query.limit)
        if self.is_full:
            return self._bytes_read <= COUNT_AHEAD_BYTES
        # A common word in docs or logs alone must end the run, too.
        return self._bytes_read <= HELD_BACK_BYTES or not any(
            each.matches > self._query.offset + self._query.limit for each in self._held_back
        )

    def finish(self) -> None:
        """Add the lines that were held back; call it once, at the end of the stream."""
        for held_back in self._held_back:
            for line in held_back.lines:
                self._add_line(line)
            self.match_count += held_back.dropped_matches.total()
            self.matches_left += held_back.dropped_matches

    def _rank(self, name: bytes) -> int | None:
        if self._current_file[0] != name:
            path = decode_name(name)
            self._current_file = (name, path_rank(path) if self._accepts(path) else None)
        return self._current_file[1]

    def _add_line(self, line: MatchLine) -> None:
        if line.column is not None:
            self.match_count += 1
            if self.match_count > self._query.offset and not self.is_full:
                self._add_hit(line)
                return
            if self.is_full:
                self.matches_left[line.name] += 1
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
        text = format_line(line.text, line.column)
        self._shown_chars += len(text)
        self.shown_lines.append(ShownLine(line.name, line.number, text, is_hit))
