"""How a session is written down while it goes on; what happens is kept before it is shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from acp_server.session.records import Journal, SessionFacts
from acp_server.session.turns import Screen
from acp_server.turn.conversation import Attachment, Link, PromptPart, Text
from acp_server.turn.events import Event

MOST_TITLE_CHARACTERS = 80


@dataclass(frozen=True, slots=True)
class RecordingScreen:
    """A screen whose events are kept."""

    journal: Journal
    screen: Screen

    async def ready(self) -> None:
        """Wait while the user's side is slow."""
        await self.screen.ready()

    def show(self, event: Event) -> None:
        """Keep one event and show it."""
        self.journal.show(event)
        self.screen.show(event)


@dataclass(frozen=True, slots=True)
class Recorder:
    """What a turn asks to be kept before it goes on."""

    journal: Journal
    facts: Callable[[], SessionFacts]

    async def commit(self) -> None:
        """Return when all that was said survives the end of this process."""
        await self.journal.commit()

    def sync(self) -> None:
        """Have a step written through to the disk, with what it has cost."""
        self.journal.update(self.facts())
        self.journal.sync()


def title_of(parts: Sequence[PromptPart]) -> str:
    """Return a title for a session that begins with this prompt: its first line, or what it names.

    >>> title_of([Text("Mend   the parser.   ")])
    'Mend the parser.'
    """
    for part in parts:
        match part:
            case Text():
                title = next((line for line in part.text.splitlines() if line.strip()), "")
            case Link():
                title = part.name
            case Attachment():
                title = part.uri.rsplit("/", 1)[-1]
            case _:
                title = ""
        if title:
            return _short(" ".join(title.split()))
    return ""


def _short(title: str) -> str:
    if len(title) <= MOST_TITLE_CHARACTERS:
        return title
    return f"{title[: MOST_TITLE_CHARACTERS - 1].rstrip()}…"
