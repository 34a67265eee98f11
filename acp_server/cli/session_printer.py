"""Prints past sessions: to a terminal as they were shown, to a pipe as plain lines.

The text of a session is untrusted, so control characters are removed from every line.
"""

from collections.abc import Sequence
from datetime import datetime

from rich.cells import cell_len, set_cell_size
from rich.text import Text

from acp_server.cli.screen import TerminalScreen, one_line, printable
from acp_server.cli.session_view import SessionView
from acp_server.cli.stored_transcript import spoken_texts
from acp_server.cli.transcript import Transcript
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.ports.session_search import MARK_BEGIN, MARK_END, SessionSearchResults
from acp_server.text.quantities import count, dollars

SPEAKERS = {"user": "you", "assistant": "agent", "notice": "note"}
"""Labels of the speakers whose label is not their name."""
UNTITLED = "(no title)"
MIN_COLUMNS = 10
"""Columns that a title and a directory have at least."""


class SessionPrinter:
    """Prints session lists, sessions and search results."""

    def __init__(self, screen: TerminalScreen) -> None:
        self._screen = screen

    def print_list(self, sessions: Sequence[SessionFacts]) -> None:
        """Print one line per session; in a terminal, titles are shortened to its width."""
        costs = [_cost(each.usage.cost_usd) for each in sessions]
        columns = max(map(len, costs), default=0)
        for each, cost in zip(sessions, costs, strict=True):
            facts = (
                (f"{_local_time(each.updated_at)}  ", "quiet"),
                (each.id, "accent"),
                (f"  {cost:>{columns}}" if columns else "", "quiet"),
            )
            title, cwd = one_line(each.title) or UNTITLED, one_line(str(each.cwd))
            if self._screen.is_terminal:
                title, cwd = self._fit(title, cwd, sum(len(text) for text, _ in facts))
            self._print_line(*facts, f"  {title}  ", (cwd, "quiet"))
        if not sessions:
            self._print_line("No sessions found.")

    def _fit(self, title: str, cwd: str, used: int) -> tuple[str, str]:
        """Return the title and the directory, shortened to what a line has left for them."""
        left = max(self._screen.width - used - 4, 2 * MIN_COLUMNS)
        ellipsis = self._screen.symbols.ellipsis
        # The end of a path says more than its beginning.
        room = max(left - cell_len(title), left // 3)
        if cell_len(cwd) > room:
            cwd = f"{ellipsis}{cwd[len(ellipsis) - room :]}"
        room = max(left - cell_len(cwd), MIN_COLUMNS)
        if cell_len(title) > room:
            title = f"{set_cell_size(title, room - len(ellipsis)).rstrip()}{ellipsis}"
        return title, cwd

    def print_session(self, title: str, facts: Sequence[str], transcript: Transcript) -> None:
        """Print the title, facts and transcript of a session."""
        self._print_line((one_line(title) or UNTITLED, "title"))
        for fact in facts:
            self._print_line((one_line(fact), "quiet"))
        if self._screen.is_terminal:
            SessionView(self._screen, transcript=transcript).settle()
            return
        for speaker, text in spoken_texts(transcript):
            label = SPEAKERS.get(speaker, speaker)
            self._print_line(f"\n{label}: {printable(text)}")

    def print_search_results(self, findings: SessionSearchResults) -> None:
        """Print search results."""
        for hit in findings.hits:
            session = hit.session
            source = "" if session.source == "acp-server" else f"  ({session.source})"
            self._print_line(
                (f"{_local_time(session.updated_at)}  ", "quiet"),
                (session.id, "accent"),
                f"  {one_line(session.title) or UNTITLED}",
                (f"{source}  {count(hit.matches, 'hit')}", "quiet"),
            )
            label = SPEAKERS.get(hit.text.role, hit.text.role)
            self._print_line(f"    {label}: ", *_highlighted(hit.snippet))
        if not findings.hits:
            self._print_line("No matches found.")
        for note in findings.notes:
            self._print_line((f"note: {note}", "quiet"))

    def _print_line(self, *parts: str | tuple[str, str]) -> None:
        self._screen.print(Text.assemble(*parts), soft_wrap=True)


def _highlighted(snippet: str) -> list[tuple[str, str]]:
    """Return a snippet as styled parts, with the matches highlighted."""
    parts: list[tuple[str, str]] = []
    before, *others = one_line(snippet).split(MARK_BEGIN)
    parts.append((before, ""))
    for each in others:
        found, _, after = each.partition(MARK_END)
        parts += [(found, "ok"), (after, "")]
    return parts


def _cost(usd: float | None) -> str:
    """Return a cost for a column; empty if it is unknown."""
    return "" if usd is None else dollars(usd)


def _local_time(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
