"""In-memory archive of sessions: the simplest implementation of the port, without a database."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acp_server.history.merging import changed, cut_short, is_open, record_of, whole
from acp_server.session.errors import (
    InvalidCursorError,
    SessionInUseError,
    UnknownSessionError,
)
from acp_server.session.ports.archive import (
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
    """Stored data of one session."""

    facts: SessionFacts
    messages: list[Message] = field(default_factory=list[Message])
    entries: list[Entry] = field(default_factory=list[Entry])
    answered: int = 0
    """Number of entries at the time of the last message."""
    is_turn_open: bool = False
    holder: "MemoryArchive | None" = None


class MemoryArchive:
    """Archive in memory; archives over the same dict behave like processes over one database."""

    def __init__(self, home: dict[str, Kept] | None = None) -> None:
        self._home = {} if home is None else home
        self.on_problem: Callable[[str], None] = lambda _problem: None

    def create(self, facts: SessionFacts) -> "MemoryJournal":
        """Store a new session and return its journal."""
        self._home[facts.id] = kept = Kept(_still(facts), holder=self)
        return MemoryJournal(kept, self)

    async def read(self, session_id: str) -> StoredSession:
        """Return the stored data of a session."""
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
        """Take over a stored session and return its journal; its open calls are marked interrupted.

        Raises:
            SessionInUseError: Another archive has the session open.
        """
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
        """Return a page of sessions, newest first; empty ones are listed only while open."""
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
        """Delete a session."""
        self._home.pop(session_id, None)

    async def close(self) -> None:
        """Release all sessions to other archives."""
        for kept in tuple(self._home.values()):
            self.release(kept)

    def release(self, kept: Kept) -> None:
        """Release a session to other archives; an empty one is deleted."""
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
    """Journal of one session in a `MemoryArchive`."""

    def __init__(self, kept: Kept, archive: MemoryArchive) -> None:
        self._kept = kept
        self._archive = archive

    def show(self, event: Event | PromptReceived | TaskMessage) -> None:
        """Store an event that is shown to the client."""
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
        """Append a message."""
        self._kept.messages.append(message)
        self._kept.answered = len(self._kept.entries)

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Replace all messages."""
        self._kept.messages[:] = messages
        self._kept.answered = len(self._kept.entries)

    def begin_turn(self) -> None:
        """Mark the turn as open."""
        self._kept.is_turn_open = True

    def end_turn(self) -> None:
        """Mark the turn as closed."""
        self._kept.is_turn_open = False

    def update(self, facts: SessionFacts) -> None:
        """Replace the facts; `updated_at` never goes back."""
        latest = max(facts.updated_at, self._kept.facts.updated_at)
        self._kept.facts = replace(_still(facts), updated_at=latest)

    async def commit(self) -> None:
        """Do nothing: everything is stored already."""

    def sync(self) -> None:
        """Do nothing: there is no disk."""

    async def close(self) -> None:
        """Release the session to other archives."""
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
