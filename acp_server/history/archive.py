"""The archive from the server's first moment: records before the database is open.

SQLite and all modules that need it are imported in the writer's thread, which starts when a task
waits for it, or by `load`. Knows no tables.
"""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypeVar

from anyio import from_thread, lowlevel, to_thread

from acp_server.history.writer_queue import (
    NO_WRITER,
    ArchiveQueries,
    MessagesReplaced,
    PendingQuery,
    SessionCreated,
    SyncRequested,
    TurnEnded,
    TurnStarted,
    WriterQueue,
)
from acp_server.session.errors import ArchiveError, UnknownSessionError
from acp_server.session.ports.archive import (
    ForkedSession,
    HistoryPage,
    SessionFacts,
    SessionPage,
    SessionState,
    StoredSession,
    UnshownRecord,
)
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived

if TYPE_CHECKING:
    from acp_server.history.writer import ArchiveWriter
    from acp_server.session.ports.session_search import SessionSearch

QueryResult = TypeVar("QueryResult")
LoopCaller = Callable[[Callable[[], None]], None]
"""Runs an action in the event loop, from the writer's thread."""

RunWriter = Callable[[Path, WriterQueue, Callable[[str], None]], None]
"""Writes the items of a queue to a file until it is asked to end; reports problems."""


class LazyArchive:
    """The archive of all sessions of a home directory, in one file."""

    def __init__(self, path: Path, write: RunWriter | None = None) -> None:
        """Set up without reading or importing; `write` is the body of the thread."""
        self._path = path
        self._write = write or self._run_writer
        self._writer: ArchiveWriter | None = None
        self._queue = WriterQueue()
        self._thread: Thread | None = None
        self._call_in_loop: LoopCaller = lambda action: action()
        self.on_problem: Callable[[str], None] = lambda _problem: None
        self.on_incomplete: Callable[[str], None] | None = None

    @property
    def problem(self) -> str | None:
        """Message to the user while sessions cannot be saved; None while they can be."""
        return None if self._writer is None else self._writer.problem

    def create(self, facts: SessionFacts) -> "SessionJournal":
        """Start to save a session; it is written once the database is open."""
        # The queue works before the database is imported, so session/new need not wait for it.
        self._queue.record(facts.id, SessionCreated(_copy_facts(facts)))
        return SessionJournal(facts.id, self, self._queue)

    async def load(self) -> None:
        """Import and open the database; return once records are being written."""
        await self.ask(lambda _writer: None)

    async def read(self, session_id: str) -> StoredSession:
        """Return a stored session."""
        _check_session_id(session_id)
        return await self.ask(lambda writer: writer.read(session_id))

    async def read_state(self, session_id: str) -> SessionState:
        """Return the state to continue a stored session from."""
        _check_session_id(session_id)
        return await self.ask(lambda writer: writer.read_state(session_id))

    async def history(
        self, session_id: str, last_entry: int | None = None
    ) -> AsyncGenerator[HistoryPage]:
        """Yield the shown history of a session, page by page."""
        pages = await self.ask(lambda writer: writer.history(session_id, last_entry))
        while (page := await self.ask(lambda writer: writer.next_page(pages))) is not None:
            yield page

    async def fork(
        self, session_id: str, change_facts: Callable[[SessionFacts], SessionFacts]
    ) -> ForkedSession:
        """Copy a session within the database."""
        _check_session_id(session_id)
        state = await self.ask(lambda writer: writer.fork(session_id, change_facts))
        return ForkedSession(SessionJournal(state.facts.id, self, self._queue), state)

    async def resume(self, session_id: str) -> "SessionJournal":
        """Continue to save a session; calls that were open are marked as failed."""
        _check_session_id(session_id)
        await self.ask(lambda writer: writer.resume(session_id))
        return SessionJournal(session_id, self, self._queue)

    async def page(self, cwd: Path | None, cursor: str | None) -> SessionPage:
        """Return fifty stored sessions; empty ones only while they are open."""
        return await self.ask(lambda writer: writer.page(cwd, cursor))

    async def delete(self, session_id: str) -> None:
        """Delete a session; an open one is no longer saved."""
        with suppress(UnknownSessionError):
            _check_session_id(session_id)
            await self.ask(lambda writer: writer.delete(session_id))
            await self.outputs(session_id).delete()

    def outputs(self, session_id: str) -> SavedOutputs:
        """Return the files that keep a session's long outputs."""
        return SavedOutputs(self._path.parent / "outputs", session_id)

    async def close(self) -> None:
        """Write everything left and end; without records the thread is not even started."""
        if self._thread is None and not len(self._queue):
            return
        thread = self._ensure_started()
        if thread.is_alive():
            # Not by a flag: the query is behind all records, so they are written first.
            await self.ask_if_running(lambda writer: writer.shut_down())
            await to_thread.run_sync(thread.join)

    async def ask(self, action: Callable[[ArchiveQueries], QueryResult]) -> QueryResult:
        """Run an action in the writer's thread and return its result.

        Raises:
            SessionError: raised by the action.
            ArchiveError: the writer has ended.
        """
        self._ensure_started()
        results: list[QueryResult] = []
        query = PendingQuery(lambda writer: results.append(action(writer)), self._call_in_loop)
        self._queue.submit(query)
        # After adding it, not before: the writer may end in between, and then fails only the
        # queries it finds in the queue.
        if self._queue.is_closed:
            raise ArchiveError(NO_WRITER)
        await query.wait()
        return results[0]

    async def ask_if_running(self, action: Callable[[ArchiveQueries], None]) -> None:
        """Run an action that is pointless once the writer has ended."""
        with suppress(ArchiveError):
            await self.ask(action)

    def _ensure_started(self) -> Thread:
        """Return the writer's thread, starting it if needed; it calls back to the current loop."""
        if self._thread is None:
            token = lowlevel.current_token()

            def call_in_loop(action: Callable[[], None]) -> None:
                with suppress(RuntimeError):  # the loop has ended, and with it the waiting task
                    from_thread.run_sync(action, token=token)

            self._call_in_loop = call_in_loop
            # A daemon: a database that hangs, on a dead network mount for example, must not keep
            # the process alive.
            self._thread = Thread(target=self._run, name="acp-history", daemon=True)
            self._thread.start()
        return self._thread

    def _run_writer(
        self, path: Path, queue: WriterQueue, on_problem: Callable[[str], None]
    ) -> None:
        from acp_server.history.database import SessionDatabase
        from acp_server.history.writer import ArchiveWriter

        request = None if self.on_incomplete is None else self._request_messages
        database = SessionDatabase(path)
        self._writer = ArchiveWriter(database, queue, on_problem, request_messages=request)
        self._writer.run()

    def _request_messages(self, session_id: str) -> None:
        if (on_incomplete := self.on_incomplete) is not None:
            self._call_in_loop(lambda: on_incomplete(session_id))

    def _run(self) -> None:
        try:
            self._write(
                self._path,
                self._queue,
                lambda problem: self._call_in_loop(lambda: self.on_problem(problem)),
            )
        finally:  # however it ended, no task may wait forever
            self._queue.close()


class SessionJournal:
    """Saves one session until it is closed."""

    def __init__(self, session_id: str, archive: LazyArchive, queue: WriterQueue) -> None:
        self._id = session_id
        self._archive = archive
        self._queue = queue

    def show(self, event: Event | PromptReceived | UnshownRecord) -> None:
        """Save an event that is shown."""
        self._queue.record(self._id, event)

    def append(self, message: Message) -> None:
        """Append a message."""
        self._queue.record(self._id, message)

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Replace all messages."""
        self._queue.record(self._id, MessagesReplaced(tuple(messages)))

    def begin_turn(self) -> None:
        """Record the start of a turn. If saving has failed before, it is tried again now."""
        self._queue.record(self._id, TurnStarted())

    def end_turn(self) -> None:
        """Record the end of a turn."""
        self._queue.record(self._id, TurnEnded())

    def update(self, facts: SessionFacts) -> None:
        """Save the current facts."""
        self._queue.record(self._id, _copy_facts(facts))

    async def commit(self) -> None:
        """Return when everything recorded so far survives the end of this process."""
        # Let sessions that commit at the same moment queue their queries behind this one: the
        # writer answers them in one transaction and wakes them together.
        await lowlevel.checkpoint()
        await self._archive.ask_if_running(lambda _writer: None)

    def sync(self) -> None:
        """Request that all records are synced to the disk and indexed for search soon."""
        self._queue.record(self._id, SyncRequested())

    async def close(self) -> None:
        """Write everything left, and let other processes open the session."""
        await self._archive.ask_if_running(lambda writer: writer.release(self._id))


def _check_session_id(session_id: str) -> None:
    """Refuse an id that this server cannot have given out: clients may send anything.

    Raises:
        UnknownSessionError: it cannot be encoded as UTF-8.
    """
    try:
        session_id.encode()
    except UnicodeEncodeError:
        raise UnknownSessionError(session_id) from None


def _copy_facts(facts: SessionFacts) -> SessionFacts:
    """Return a copy of the facts as they are now: the usage totals are updated in place."""
    return replace(facts, usage=facts.usage.copy())


def open_session_search(home: Path) -> "SessionSearch":
    """Return the search over a home directory's past sessions; blocks on imports.

    Sessions of Hermes in the same directory are included.
    """
    from acp_server.history.search import PastSessions
    from acp_server.history.search_databases import DatabasePaths

    return PastSessions(DatabasePaths(home / "acp" / "sessions.db", home / "state.db"))
