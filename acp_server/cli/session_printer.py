"""Prints past sessions to a terminal, or to a pipe as the same lines without colours.

The text of a session is untrusted, so control characters are removed from every line.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime

from rich.text import Text

from acp_server.cli.screen import Screen, count, one_line, printable
from acp_server.cli.transcript import Saying, Speaker
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.ports.session_search import MARK_BEGIN, MARK_END, Findings, Hit

STYLES: dict[Speaker, str] = {
    "user": "prompt",
    "assistant": "",
    "tool": "quiet",
    "plan": "accent",
    "notice": "warning",
    "task": "quiet",
}
LABELS: dict[Speaker, str] = {
    "user": "you",
    "assistant": "agent",
    "tool": "tool",
    "plan": "plan",
    "notice": "note",
    "task": "task",
}
UNTITLED = "(no title)"


class SessionPages:
    """Prints session lists, sessions and search results."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def listed(self, sessions: Sequence[SessionFacts]) -> None:
        """Print one line per session."""
        for each in sessions:
            title = one_line(each.title) or UNTITLED
            self._line(
                (f"{_when(each.updated_at)}  ", "quiet"),
                (each.id, "accent"),
                f"  {title}  ",
                (one_line(str(each.cwd)), "quiet"),
            )
        if not sessions:
            self._line("No sessions found.")

    def show(self, title: str, about: Sequence[str], sayings: Iterable[Saying]) -> None:
        """Print the title, facts and messages of a session."""
        self._line((one_line(title) or UNTITLED, "title"))
        for fact in about:
            self._line((one_line(fact), "quiet"))
        for each in sayings:
            self._line()
            self._line((f"{LABELS[each.speaker]}: ", "quiet"), *self._said(each))

    def found(self, findings: Findings) -> None:
        """Print search results."""
        for hit in findings.hits:
            self._hit(hit)
        if not findings.hits:
            self._line("No matches found.")
        for note in findings.notes:
            self._line((f"note: {note}", "quiet"))

    def _hit(self, hit: Hit) -> None:
        session = hit.session
        source = "" if session.source == "acp-server" else f"  ({session.source})"
        self._line(
            (f"{_when(session.updated_at)}  ", "quiet"),
            (session.id, "accent"),
            f"  {one_line(session.title) or UNTITLED}",
            (f"{source}  {count(hit.matches, 'hit')}", "quiet"),
        )
        self._line(f"    {LABELS[hit.text.role]}: ", *_marked(hit.snippet))

    def _said(self, saying: Saying) -> list[tuple[str, str]]:
        return [(printable(saying.text), STYLES[saying.speaker])]

    def _line(self, *parts: str | tuple[str, str]) -> None:
        self._screen.print(Text.assemble(*parts), soft_wrap=True)


def _marked(snippet: str) -> list[tuple[str, str]]:
    """Return a snippet as styled parts, with the matches highlighted."""
    parts: list[tuple[str, str]] = []
    before, *others = one_line(snippet).split(MARK_BEGIN)
    parts.append((before, ""))
    for each in others:
        found, _, behind = each.partition(MARK_END)
        parts += [(found, "ok"), (behind, "")]
    return parts


def _when(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"
