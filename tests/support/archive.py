"""In-memory archive of sessions: the simplest implementation of the port, without a database."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acp_server.history.merging import (
    apply_change,
    fail_interrupted,
    is_open,
    merge_chunks,
    new_call_record,
)
from acp_server.session.errors import (
    InvalidCursorError,
    SessionInUseError,
    UnknownSessionError,
)
from acp_server.session.ports.archive import (
    CallRecord,
    Entry,
    ForkedSession,
    HistoryPage,
    SessionFacts,
    SessionPage,
    SessionState,
    StoredSession,
    TerminalRecord,
    UnshownRecord,
)
from acp_server.session.replay import record_copy, session_state, whole_history
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.turn.conversation import Message
from acp_server.turn.events import (
    CallAppeared,
    CallChanged,
    CompactionChanged,
    ContextMeasured,
    Event,
    PromptReceived,
    SubAgentEnded,
    SubAgentProgressed,
    SubAgentStarted,
    TerminalEnded,
    TerminalOpened,
    TerminalPrinted,
)

PAGE_SIZE = 50
MAX_OUTPUT_CHARACTERS = 100_000


@dataclass(slots=True)
class MemorySession:
    """Stored data of one session."""

    facts: SessionFacts
    messages: list[Message] = field(default_factory=list[Message])
    entries: list[Entry] = field(default_factory=list[Entry])
    saved_entry_count: int = 0
    """Number of entries at the time of the last message."""
    is_turn_open: bool = False
    owner: "MemoryArchive | None" = None

    @property
    def has_prompt(self) -> bool:
        """Whether the user has sent anything."""
        return bool(self.messages) or any(isinstance(e, PromptReceived) for e in self.entries)


class MemoryArchive:
    """Archive in memory; archives over the same dict behave like processes over one database."""

    def __init__(self, sessions: dict[str, MemorySession] | None = None) -> None:
        self._sessions = {} if sessions is None else sessions
        self.on_problem: Callable[[str], None] = lambda _problem: None
        self.on_incomplete: Callable[[str], None] | None = None
        self.problem: str | None = None

    def create(self, facts: SessionFacts) -> "MemoryJournal":
        """Store a new session and return its journal."""
        self._sessions[facts.id] = stored = MemorySession(_copy_facts(facts), owner=self)
        return MemoryJournal(stored, self)

    async def read(self, session_id: str) -> StoredSession:
        """Return the stored data of a session."""
        stored = self._find(session_id)
        unfinished = stored.entries[stored.saved_entry_count :] if stored.is_turn_open else []
        return StoredSession(
            _copy_facts(stored.facts),
            tuple(stored.messages),
            merge_chunks(stored.entries),
            merge_chunks(unfinished),
            stored.is_turn_open,
        )

    async def read_state(self, session_id: str) -> SessionState:
        """Return the state to continue a session from."""
        return session_state(await self.read(session_id))

    async def history(
        self, session_id: str, last_entry: int | None = None
    ) -> AsyncGenerator[HistoryPage]:
        """Yield the whole history as one page."""
        stored = await self.read(session_id)
        entries = stored.entries[: None if last_entry is None else last_entry + 1]
        yield whole_history(replace(stored, entries=entries))

    async def fork(
        self, session_id: str, change_facts: Callable[[SessionFacts], SessionFacts]
    ) -> ForkedSession:
        """Record a copy."""
        stored = await self.read(session_id)
        state = session_state(stored)
        facts = change_facts(state.facts)
        journal = self.create(facts)
        record_copy(stored, journal)
        return ForkedSession(journal, replace(state, facts=facts))

    async def resume(self, session_id: str) -> "MemoryJournal":
        """Take over a stored session and return its journal; its open calls are marked interrupted.

        Raises:
            SessionInUseError: Another archive has the session open.
        """
        stored = self._find(session_id)
        if stored.owner not in {None, self}:
            raise SessionInUseError(session_id, "another archive")
        stored.owner = self
        stored.entries[:] = [
            fail_interrupted(entry) if isinstance(entry, CallRecord) and is_open(entry) else entry
            for entry in stored.entries
        ]
        return MemoryJournal(stored, self)

    async def page(self, cwd: Path | None, cursor: str | None) -> SessionPage:
        """Return a page of sessions that have a prompt, newest first."""
        listed = [stored.facts for stored in self._sessions.values() if stored.has_prompt]
        found = [replace(facts, system=None) for facts in listed if cwd in {None, facts.cwd}]
        found.sort(key=lambda facts: (facts.updated_at, facts.id), reverse=True)
        first = 0 if cursor is None else self._index_after(found, cursor)
        page = tuple(found[first : first + PAGE_SIZE])
        return SessionPage(page, page[-1].id if len(found) > first + PAGE_SIZE else None)

    async def delete(self, session_id: str) -> None:
        """Delete a session."""
        self._sessions.pop(session_id, None)

    def outputs(self, session_id: str) -> SavedOutputs:
        """Return files that cannot be written: nothing of this archive is on the disk."""
        return SavedOutputs(Path("/dev/null/outputs"), session_id)

    async def close(self) -> None:
        """Release all sessions to other archives."""
        for stored in tuple(self._sessions.values()):
            self.release(stored)

    def release(self, session: MemorySession) -> None:
        """Release a session to other archives."""
        if session.owner is self:
            session.owner = None

    def _find(self, session_id: str) -> MemorySession:
        if session_id not in self._sessions:
            raise UnknownSessionError(session_id)
        return self._sessions[session_id]

    def _index_after(self, found: Sequence[SessionFacts], cursor: str) -> int:
        for number, facts in enumerate(found):
            if facts.id == cursor:
                return number + 1
        raise InvalidCursorError


class MemoryJournal:
    """Journal of one session in a `MemoryArchive`."""

    def __init__(self, session: MemorySession, archive: MemoryArchive) -> None:
        self._session = session
        self._archive = archive

    def show(self, event: Event | PromptReceived | UnshownRecord) -> None:
        """Store an event that is shown to the client."""
        match event:
            case CallAppeared():
                self._session.entries.append(new_call_record(event))
            case CallChanged() | TerminalOpened() | TerminalEnded() | TerminalPrinted():
                self._apply_change(event)
            case CompactionChanged():
                self._session.entries += [] if event.status == "in_progress" else [event]
            case ContextMeasured() | SubAgentStarted() | SubAgentProgressed() | SubAgentEnded():
                pass
            case _:
                self._session.entries.append(event)

    def append(self, message: Message) -> None:
        """Append a message."""
        self._session.messages.append(message)
        self._session.saved_entry_count = len(self._session.entries)

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Replace all messages."""
        self._session.messages[:] = messages
        self._session.saved_entry_count = len(self._session.entries)

    def begin_turn(self) -> None:
        """Mark the turn as open."""
        self._session.is_turn_open = True

    def end_turn(self) -> None:
        """Mark the turn as closed."""
        self._session.is_turn_open = False

    def update(self, facts: SessionFacts) -> None:
        """Replace the facts; `updated_at` never goes back."""
        latest = max(facts.updated_at, self._session.facts.updated_at)
        self._session.facts = replace(_copy_facts(facts), updated_at=latest)

    async def commit(self) -> None:
        """Do nothing: everything is stored already."""

    def sync(self) -> None:
        """Do nothing: there is no disk."""

    async def close(self) -> None:
        """Release the session to other archives."""
        self._archive.release(self._session)

    def _apply_change(
        self, event: CallChanged | TerminalOpened | TerminalEnded | TerminalPrinted
    ) -> None:
        entries = self._session.entries
        for number in range(len(entries) - 1, -1, -1):
            entry = entries[number]
            if isinstance(entry, CallRecord) and entry.appeared.call_id == event.call_id:
                is_output = isinstance(event, TerminalPrinted)
                entries[number] = (
                    _append_output(entry, event) if is_output else apply_change(entry, event)
                )
                return


def _append_output(record: CallRecord, event: TerminalPrinted) -> CallRecord:
    terminal = record.terminal or TerminalRecord(event.terminal_id, "", "")
    data = (terminal.data + event.data)[-MAX_OUTPUT_CHARACTERS:]
    return replace(record, terminal=replace(terminal, data=data))


def _copy_facts(facts: SessionFacts) -> SessionFacts:
    return replace(facts, usage=facts.usage.copy())
