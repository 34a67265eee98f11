"""How a session is written down while it goes on; what happens is kept before it is shown."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from acp_server.frozen import frozen
from acp_server.session.commands import parse_invocation
from acp_server.session.identifiers import new_id
from acp_server.session.records import Journal, SessionFacts
from acp_server.session.steering import prompt_parts
from acp_server.session.turns import Screen
from acp_server.turn.conversation import Attachment, Link, PromptPart, Text, UserMessage, text_of
from acp_server.turn.events import CallChanged, Event, PromptReceived

MOST_TITLE_CHARACTERS = 80


def _nobody() -> None: ...


@frozen
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


@dataclass(slots=True)
class Chronicle:
    """What is written down of one session, and what a list of sessions shows of it."""

    journal: Journal
    begun: SessionFacts
    """As the session was taken up; what has changed since is added."""
    current: Callable[[SessionFacts], SessionFacts]
    """Adds what was chosen, used and sent."""
    on_title: Callable[[], None] = _nobody
    """Called when the session has got another title."""
    title: str = field(init=False)
    updated_at: datetime = field(init=False)

    def __post_init__(self) -> None:
        """Go on from what the session was."""
        self.title, self.updated_at = self.begun.title, self.begun.updated_at

    def receive(self, message: UserMessage) -> None:
        """Keep a prompt as the user sent it; the first that is no command gives the title."""
        parts = prompt_parts(message)
        self.updated_at = datetime.now(UTC)
        self.journal.show(PromptReceived(new_id(), parts))
        if not self.title and parse_invocation(text_of(parts)) is None:
            self.title = title_of(parts)
            self.on_title()
        self.keep()

    def rest(self) -> None:
        """Keep that no prompt is worked on."""
        self.updated_at = datetime.now(UTC)
        self.journal.end_turn()
        self.sync()

    def keep(self) -> None:
        """Keep what is known of the session by now."""
        known = replace(self.begun, title=self.title, updated_at=self.updated_at)
        self.journal.update(self.current(known))

    async def commit(self) -> None:
        """Return when all that was said survives the end of this process."""
        await self.journal.commit()

    def sync(self) -> None:
        """Have a step written through to the disk, with what it has cost."""
        self.keep()
        self.journal.sync()

    async def note_answer(self, call_id: str, choice: str) -> None:
        """Keep what the user said to a question about a call, before it is acted upon."""
        self.journal.show(CallChanged(call_id, permission=choice))
        await self.journal.commit()


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
