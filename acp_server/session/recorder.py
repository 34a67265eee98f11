"""Records a session while it runs; events are stored before they are shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from acp_server.session.commands.command import parse_invocation
from acp_server.session.ids import new_id
from acp_server.session.ports.archive import Journal, SavedSystem, SessionFacts
from acp_server.session.ports.observer import NullObserver, SessionObserver
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.steering import prompt_parts
from acp_server.turn.conversation import (
    Attachment,
    Link,
    Message,
    PromptPart,
    Text,
    UserMessage,
    prompt_to_text,
)
from acp_server.turn.events import CallChanged, PromptReceived
from acp_server.turn.usage_totals import UsageTotals

MAX_TITLE_CHARACTERS = 80
MAX_CHOSEN_TITLE_CHARACTERS = 200


@dataclass(slots=True)
class SessionRecorder:
    """Persists one session's events and facts, including its entry in the session list."""

    journal: Journal
    facts: SessionFacts
    """The current facts; their usage is taken from `totals` whenever they are stored."""
    totals: UsageTotals
    observer: SessionObserver = field(default_factory=NullObserver)
    _is_title_command: bool = field(default=False, init=False)
    """Whether the title is a command, which the first other prompt replaces."""

    def record_prompt(self, message: UserMessage, checkpoint: str = "") -> None:
        """Record a prompt as sent; the first sets the title, a command only for the time being."""
        parts = prompt_parts(message)
        self.facts = replace(self.facts, updated_at=datetime.now(UTC))
        self.journal.show(PromptReceived(new_id(), parts, checkpoint))
        # A command says less about the topic than the first other prompt, but more than nothing.
        is_command = parse_invocation(prompt_to_text(parts)) is not None
        if not self.facts.title or (self._is_title_command and not is_command):
            self._is_title_command = is_command
            self.facts = replace(self.facts, title=make_title(parts))
            if not is_command:  # the editor shows the command anyway
                self.observer.title_changed(self.facts.title, self.facts.updated_at)
        self.save_facts()

    def set_title(self, title: str) -> None:
        """Replace the title by one that the user chose."""
        self._is_title_command = False
        self.facts = replace(self.facts, title=title)
        self.observer.title_changed(title, self.facts.updated_at)
        self.save_facts()

    def end_turn(self) -> None:
        """Record that no prompt is running."""
        self.facts = replace(self.facts, updated_at=datetime.now(UTC))
        # Before `sync`: after a crash, an open turn would get a reply that says it was cut off.
        self.journal.end_turn()
        self.sync()

    def set_system(self, system: SavedSystem | None) -> None:
        """Replace the system prompt in the facts; stored with the next change."""
        self.facts = replace(self.facts, system=system)

    def save_options(self, options: SelectedOptions) -> None:
        """Store the selected options."""
        self.facts = replace(
            self.facts,
            mode=options.mode,
            model_id=options.chosen_model,
            thought_level=options.chosen_level,
            network=options.chosen_network,
            ports=options.chosen_ports,
            fast_mode=options.chosen_speed,
        )
        self.save_facts()

    def save_facts(self) -> None:
        """Store the current facts."""
        # A copy of the usage: the journal writes it later, in the background.
        self.journal.update(replace(self.facts, usage=self.totals.copy()))

    def store_again(self, messages: Sequence[Message]) -> None:
        """Store the facts and all messages once more: what was stored of them is lost."""
        self.save_facts()
        self.journal.rebuild(messages)

    async def commit(self) -> None:
        """Return once everything recorded so far survives the end of this process."""
        await self.journal.commit()

    def sync(self) -> None:
        """Flush a completed step to disk, with its cost."""
        self.save_facts()
        self.journal.sync()

    async def record_permission(self, call_id: str, choice: str) -> None:
        """Record the user's answer to a permission request before it is acted upon."""
        # Committed before the effect: after a crash it is known what the user allowed.
        self.journal.show(CallChanged(call_id, permission=choice))
        await self.journal.commit()


def clean_title(title: str) -> str:
    """Return a title that the user chose on one line, shortened; empty if nothing remains."""
    return " ".join(title.split())[:MAX_CHOSEN_TITLE_CHARACTERS].strip()


def make_title(parts: Sequence[PromptPart]) -> str:
    """Return a session title from its first prompt: the first line, or the name of an attachment.

    >>> make_title([Text("Mend   the parser.   ")])
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
            return _shorten(" ".join(title.split()))
    return ""


def _shorten(title: str) -> str:
    if len(title) <= MAX_TITLE_CHARACTERS:
        return title
    return f"{title[: MAX_TITLE_CHARACTERS - 1].rstrip()}…"
