"""Prints past sessions: to a terminal as they were shown, to a pipe as plain lines.

The text of a session is untrusted, so control characters are removed from every line.
"""

from collections.abc import Sequence
from datetime import datetime

from rich.text import Text

from acp_server.cli.screen import TerminalScreen, one_line, printable
from acp_server.cli.session_view import SessionView
from acp_server.cli.stored_transcript import spoken_texts
from acp_server.cli.transcript import Transcript
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.ports.session_search import MARK_BEGIN, MARK_END, SessionSearchResults
from acp_server.text.quantities import count

SPEAKERS = {"user": "you", "assistant": "agent", "notice": "note"}
"""Labels of the speakers whose label is not their name."""
UNTITLED = "(no title)"


class SessionPrinter:
    """Prints session lists, sessions and search results."""

    def __init__(self, screen: TerminalScreen) -> None:
        self._screen = screen

    def print_list(self, sessions: Sequence[SessionFacts]) -> None:
        """Print one line per session."""
        for each in sessions:
            title = one_line(each.title) or UNTITLED
            self._print_line(
                (f"{_local_time(each.updated_at)}  ", "quiet"),
                (each.id, "accent"),
                f"  {title}  ",
                (one_line(str(each.cwd)), "quiet"),
            )
        if not sessions:
            self._print_line("No sessions found.")

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


def _local_time(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
