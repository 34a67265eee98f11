"""Archives in memory: the port as simply as it can be told, for tests that need no database."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acp_server.history.merging import changed, cut_short, is_open, record_of, whole
from acp_server.session.errors import (
    InvalidCursorError,
    SessionInUseError,
    UnknownSessionError,
)
from acp_server.session.records import (
    CallRecord,
    Entry,
    Page,
    SessionFacts,
    StoredSession,
    TaskMessage,
    TerminalRecord,
)
from acp_server.turn.conversation import Message
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CompactionChanged,
    ContextMeasured,
    Event,
    PromptReceived,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
)

PAGE_SIZE = 50
MOST_OUTPUT_CHARACTERS = 100_000


@dataclass(slots=True)
class Kept:
    """What a home holds of one session."""

    facts: SessionFacts
    messages: list[Message] = field(default_factory=list[Message])
    entries: list[Entry] = field(default_factory=list[Entry])
    answered: int = 0
    """How many entries there were when the last message came."""
    is_turn_open: bool = False
    holder: "MemoryArchive | None" = None


class MemoryArchive:
    """Keeps the sessions of a home; archives of one home are as processes are to each other."""

    def __init__(self, home: dict[str, Kept] | None = None) -> None:
        self._home = {} if home is None else home
        self.on_problem: Callable[[str], None] = lambda _problem: None

    def create(self, facts: SessionFacts) -> "MemoryJournal":
        """Begin to keep a session."""
        self._home[facts.id] = kept = Kept(_still(facts), holder=self)
        return MemoryJournal(kept, self)

    async def read(self, session_id: str) -> StoredSession:
        """Return what is kept of a session."""
        kept = self._known(session_id)
        unfinished = kept.entries[kept.answered :] if kept.is_turn_open else []
        return StoredSession(
            _still(kept.facts),
            tuple(kept.messages),
            whole(kept.entries),
            whole(unfinished),
            kept.is_turn_open,
        )

    async def resume(self, session_id: str) -> "MemoryJournal":
        """Go on keeping a session."""
        kept = self._known(session_id)
        if kept.holder not in {None, self}:
            raise SessionInUseError(session_id, "another archive")
        kept.holder = self
        kept.entries[:] = [
            cut_short(entry) if isinstance(entry, CallRecord) and is_open(entry) else entry
            for entry in kept.entries
        ]
        return MemoryJournal(kept, self)

    async def page(self, cwd: Path | None, cursor: str | None) -> Page:
        """Return kept sessions, those without a word only while they are open."""
        listed = [
            kept.facts
            for kept in self._home.values()
            if kept.messages or kept.entries or kept.holder
        ]
        found = [replace(facts, system=None) for facts in listed if cwd in {None, facts.cwd}]
        found.sort(key=lambda facts: (facts.updated_at, facts.id), reverse=True)
        first = 0 if cursor is None else self._index_behind(found, cursor)
        page = tuple(found[first : first + PAGE_SIZE])
        return Page(page, page[-1].id if len(found) > first + PAGE_SIZE else None)

    async def delete(self, session_id: str) -> None:
        """Forget a session."""
        self._home.pop(session_id, None)

    async def close(self) -> None:
        """Let others have all sessions."""
        for kept in tuple(self._home.values()):
            self.release(kept)

    def release(self, kept: Kept) -> None:
        """Let others have a session; without a word in it, it is forgotten."""
        if kept.holder is self:
            kept.holder = None
            if not kept.messages and not kept.entries:
                self._home.pop(kept.facts.id, None)

    def _known(self, session_id: str) -> Kept:
        if session_id not in self._home:
            raise UnknownSessionError(session_id)
        return self._home[session_id]

    def _index_behind(self, found: Sequence[SessionFacts], cursor: str) -> int:
        for number, facts in enumerate(found):
            if facts.id == cursor:
                return number + 1
        raise InvalidCursorError


class MemoryJournal:
    """Keeps one session."""

    def __init__(self, kept: Kept, archive: MemoryArchive) -> None:
        self._kept = kept
        self._archive = archive

    def show(self, event: Event | PromptReceived | TaskMessage) -> None:
        """Keep an event that is shown."""
        match event:
            case CallAppeared():
                self._kept.entries.append(record_of(event))
            case CallChanged() | TerminalOpened() | TerminalEnded() | TerminalPrinted():
                self._change(event)
            case CompactionChanged():
                self._kept.entries += [] if event.status == "in_progress" else [event]
            case ContextMeasured():
                pass
            case _:
                self._kept.entries.append(event)

    def append(self, message: Message) -> None:
        """Keep a message behind all others."""
        self._kept.messages.append(message)
        self._kept.answered = len(self._kept.entries)

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Keep these messages in the place of all."""
        self._kept.messages[:] = messages
        self._kept.answered = len(self._kept.entries)

    def begin_turn(self) -> None:
        """Note that a turn runs."""
        self._kept.is_turn_open = True

    def end_turn(self) -> None:
        """Note that no turn runs any more."""
        self._kept.is_turn_open = False

    def update(self, facts: SessionFacts) -> None:
        """Keep what the facts are now."""
        latest = max(facts.updated_at, self._kept.facts.updated_at)
        self._kept.facts = replace(_still(facts), updated_at=latest)

    async def commit(self) -> None:
        """Do nothing: it is kept."""

    def sync(self) -> None:
        """Do nothing: there is no disk."""

    async def close(self) -> None:
        """Let others have the session."""
        self._archive.release(self._kept)

    def _change(
        self, event: CallChanged | TerminalOpened | TerminalEnded | TerminalPrinted
    ) -> None:
        entries = self._kept.entries
        for number in range(len(entries) - 1, -1, -1):
            entry = entries[number]
            if isinstance(entry, CallRecord) and entry.appeared.call_id == event.call_id:
                is_output = isinstance(event, TerminalPrinted)
                entries[number] = _printed(entry, event) if is_output else changed(entry, event)
                return


def _printed(record: CallRecord, event: TerminalPrinted) -> CallRecord:
    terminal = record.terminal or TerminalRecord(event.terminal_id, "", "")
    data = (terminal.data + event.data)[-MOST_OUTPUT_CHARACTERS:]
    return replace(record, terminal=replace(terminal, data=data))


def _still(facts: SessionFacts) -> SessionFacts:
    return replace(facts, spent=facts.spent.copy())
