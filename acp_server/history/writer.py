"""The writer thread: the only user of the database, for all sessions of a process.

It takes the items of the queue, writes them in one transaction, then answers the queries. If the
database fails, the user is told once and work continues without it; every later turn or query tries
again. A damaged file is moved aside and the open sessions are written to a new one.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

from acp_server.history import leases, session_reads, tables, text_index
from acp_server.history.database import SessionDatabase
from acp_server.history.errors import (
    DatabaseBusyError,
    DatabaseDamagedError,
    DatabaseReplacedError,
    SessionStoreError,
)
from acp_server.history.leases import HEARTBEAT_SECONDS, LeaseHolder
from acp_server.history.session_rows import SessionRowWriter
from acp_server.history.writer_queue import (
    PendingQuery,
    RecordedItem,
    SessionCreated,
    SyncRequested,
    TurnStarted,
    WriterQueue,
)
from acp_server.session.errors import (
    ArchiveError,
    SessionInUseError,
    UnknownSessionError,
)
from acp_server.session.ports.archive import CallRecord, SessionPage, StoredSession

logger = logging.getLogger(__name__)

QueryResult = TypeVar("QueryResult")

NOT_SAVED = "Sessions are no longer saved: {reason}. The server tries again with each prompt."
SESSION_LOST = "Session {session_id} is no longer saved: it was deleted or opened elsewhere."
HISTORY_LOST = (
    "Session {session_id} is no longer saved: its earlier messages were lost with the database."
)


class ArchiveWriter:
    """Writes records and answers queries, in the thread that calls `run`."""

    def __init__(
        self,
        database: SessionDatabase,
        queue: WriterQueue,
        on_problem: Callable[[str], None],
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
    ) -> None:
        """Set up; the heartbeat is sent while this process holds sessions."""
        self._heartbeat_seconds = heartbeat_seconds
        self._database = database
        self._queue = queue
        self._on_problem = on_problem
        self._reported: set[str] = set()
        # One identity for the process's lifetime; leases outlive a reopened database.
        self._holder = LeaseHolder()
        self._sessions: dict[str, SessionRowWriter] = {}
        self._problem: str | None = None
        """Why nothing can be saved, while that is so."""
        self._is_sync_due = False
        self._is_shutting_down = False
        self._queries: deque[PendingQuery] = deque()
        self._next_heartbeat_seconds = time.monotonic() + self._heartbeat_seconds

    def run(self) -> None:
        """Write until a query asks to end."""
        try:
            self._open(self._database.open)
            while not self._is_shutting_down:
                self._run_once()
        finally:
            self._database.close()
            for query in self._queries:  # taken from the queue, but not answered yet
                query.fail()

    def read(self, session_id: str) -> StoredSession:
        """Return a stored session."""
        return self._run_read(partial(session_reads.load_session, session_id=session_id))

    def page(self, cwd: Path | None, cursor: str | None) -> SessionPage:
        """Return a page of stored sessions."""
        return self._run_read(
            partial(session_reads.list_page, cwd=cwd, cursor=cursor, own_holder=self._holder)
        )

    def resume(self, session_id: str) -> None:
        """Take over a stored session, unless another live process holds it."""
        if session_id in self._sessions:
            return
        row_writer = self._new_session(session_id)
        self._run_write(partial(self._claim_session, row_writer=row_writer))
        self._sessions[session_id] = row_writer

    def delete(self, session_id: str) -> None:
        """Delete a session."""
        self._run_write(partial(tables.delete_session, session_id=session_id))
        self._sessions.pop(session_id, None)

    def release(self, session_id: str) -> None:
        """Give up a session; unsaved records are tried one last time."""
        if session_id in self._sessions:
            self._reopen_if_failed()
        if self._sessions.pop(session_id, None) is not None and self._problem is None:
            self._run_write(partial(self._release_sessions, session_ids=[session_id]))

    def shut_down(self) -> None:
        """Give up all sessions and end; unsaved records are tried one last time."""
        self._is_shutting_down = True
        if self._sessions:
            self._reopen_if_failed()
        session_ids = list(self._sessions)
        self._sessions = {}
        if session_ids and self._problem is None:
            self._run_write(partial(self._release_sessions, session_ids=session_ids))

    def _run_once(self) -> None:
        """Process the queued items, or send a heartbeat."""
        for item in self._queue.take_batch(self._wait_seconds()):
            if isinstance(item, tuple):
                self._record(*item)
            else:
                self._queries.append(item)
        # Records before queries: a query may only be answered once everything before it is written.
        if self._problem is None:
            try:
                self._write_rows()
            except SessionStoreError as error:
                self._handle_failure(error)
        self._answer_queries()
        if self._is_sync_due or self._wait_seconds() == 0.0:
            self._sync()

    def _answer_queries(self) -> None:
        """Answer all queries, and wake their tasks in one hop: no session goes ahead of others."""
        for query in self._queries:
            query.execute(self)
        answered, self._queries = self._queries, deque()

        def wake_all() -> None:
            for query in answered:
                query.wake()

        if answered:
            answered[0].call_in_loop(wake_all)

    def _wait_seconds(self) -> float | None:
        """Return the time until the next heartbeat; None while no session is held."""
        if not self._sessions:
            return None
        return max(0.0, self._next_heartbeat_seconds - time.monotonic())

    def _record(self, session_id: str, recorded: RecordedItem) -> None:
        if isinstance(recorded, SessionCreated):
            self._sessions[session_id] = self._new_session(session_id)
        row_writer = self._sessions.get(session_id)
        if row_writer is None:  # the session was closed, deleted or lost
            return
        self._is_sync_due |= isinstance(recorded, SyncRequested)
        try:
            if isinstance(recorded, TurnStarted):
                self._reopen_if_failed()
            row_writer.record(recorded)
        except SessionStoreError as error:
            self._handle_failure(error)

    def _new_session(self, session_id: str) -> SessionRowWriter:
        def read_call(entry: int) -> CallRecord | None:
            with self._database.read_transaction() as connection:
                return tables.read_call(connection, session_id, entry)

        row_writer = SessionRowWriter(session_id, self._holder, read_call)
        if self._problem is not None:
            row_writer.suspend()
        return row_writer

    def _write_rows(self) -> None:
        """Write the records taken so far."""
        pending = {
            row_writer: rows
            for row_writer in self._sessions.values()
            if (rows := row_writer.pending_writes())
        }
        if not pending:
            return
        with self._database.transaction() as connection:
            # Inside the transaction: no other process can take a lease over between check and
            # write.
            held_ids = leases.held_session_ids(connection, self._holder)
            lost = [
                row_writer
                for row_writer in pending
                if not row_writer.is_new and row_writer.id not in held_ids
            ]
            for row_writer, rows in pending.items():
                # A lost session belongs to another process now; writing on would mix two histories.
                for write in rows if row_writer not in lost else ():
                    write(connection)
        for row_writer in pending:
            row_writer.mark_written()
        self._drop_sessions(lost, SESSION_LOST)

    def _sync(self) -> None:
        """Sync to the disk, index new texts for search, and send a heartbeat.

        A requested sync that fails stays due: it is repeated once the database can be used again.
        """
        self._next_heartbeat_seconds = time.monotonic() + self._heartbeat_seconds
        if self._problem is not None:
            return
        try:
            with self._database.transaction(is_durable=self._is_sync_due) as connection:
                text_index.index_pending(connection)
                leases.send_heartbeat(connection, self._holder)
        except SessionStoreError as error:
            self._handle_failure(error)
        else:
            self._is_sync_due = False

    def _handle_failure(self, error: SessionStoreError) -> None:
        """Continue without the database, or with a new one."""
        logger.warning("the session database failed: %s", error.reason)
        self._suspend_all()
        match error:
            case DatabaseDamagedError():
                self._open(self._database.replace)
            case DatabaseReplacedError():
                self._open(self._database.open)
            case _:
                self._disable(error)

    def _open(self, open_file: Callable[[], Sequence[str]]) -> None:
        """Open the database and write the missing state of the open sessions."""
        previous_origin = self._database.origin
        try:
            notices = open_file()
            self._recover(is_other_file=self._database.origin != previous_origin)
        except SessionStoreError as error:
            self._suspend_all()
            # Replace at most once: a new file that is damaged at once points to the disk.
            if isinstance(error, DatabaseDamagedError) and open_file != self._database.replace:
                self._open(self._database.replace)
            else:
                self._disable(error)
        else:
            # The problem is solved; if it returns, report it again.
            self._reported.discard(NOT_SAVED.format(reason=self._problem))
            self._problem = None
            for notice in notices:
                self._report(notice)

    def _reopen_if_failed(self) -> None:
        """Reopen the database if it has failed, and write all unsaved state."""
        if self._problem is not None:
            self._open(self._database.open)

    def _recover(self, *, is_other_file: bool) -> None:
        with self._database.transaction() as connection:
            # Left by processes that ended without a release.
            for session_id in session_reads.find_abandoned(connection, self._holder):
                tables.delete_session(connection, session_id)
            text_index.index_pending(connection)
            lost = [
                row_writer
                for row_writer in self._sessions.values()
                if not row_writer.recover(connection, is_other_file=is_other_file)
            ]
        # After the transaction: tell users only about a state that was committed.
        self._drop_sessions(lost, HISTORY_LOST if is_other_file else SESSION_LOST)
        self._write_rows()

    def _suspend_all(self) -> None:
        """Drop all pending writes; their transaction was rolled back."""
        for row_writer in self._sessions.values():
            row_writer.suspend()

    def _disable(self, error: SessionStoreError) -> None:
        self._database.close()
        self._problem = error.reason
        self._report(NOT_SAVED.format(reason=error.reason))

    def _drop_sessions(self, lost: Sequence[SessionRowWriter], message: str) -> None:
        for row_writer in lost:
            del self._sessions[row_writer.id]
            self._report(message.format(session_id=row_writer.id))

    def _report(self, problem: str) -> None:
        if problem not in self._reported:
            self._reported.add(problem)
            self._on_problem(problem)

    def _run_read(self, action: Callable[[Connection], QueryResult]) -> QueryResult:
        with self._available(), self._database.read_transaction() as connection:
            return action(connection)

    def _run_write(self, action: Callable[[Connection], None]) -> None:
        with self._available(), self._database.transaction() as connection:
            action(connection)

    @contextmanager
    def _available(self) -> Generator[None]:
        """Make the database available for a query, and report failures to its sender."""
        self._reopen_if_failed()
        if self._problem is not None:
            raise ArchiveError(self._problem)
        try:
            yield
        except SessionStoreError as error:
            # Busy passes by itself, and the records are safe: only the query fails.
            if not isinstance(error, DatabaseBusyError):
                self._handle_failure(error)
            raise ArchiveError(error.reason) from error

    def _claim_session(self, connection: Connection, row_writer: SessionRowWriter) -> None:
        known = connection.execute(
            "SELECT 1 FROM sessions WHERE id = ?", (row_writer.id,)
        ).fetchone()
        if known is None:
            raise UnknownSessionError(row_writer.id)
        lease = leases.find(connection, row_writer.id)
        if lease is not None and not lease.has_expired(self._holder, leases.now_us()):
            raise SessionInUseError(row_writer.id, lease.describe_holder(self._holder))
        # In the transaction of the check above: two processes must not both find the lease expired.
        leases.claim(connection, row_writer.id, self._holder)
        row_writer.load_state(connection)

    def _release_sessions(self, connection: Connection, session_ids: Sequence[str]) -> None:
        """Release sessions this process holds, and delete the empty ones."""
        held_ids = leases.held_session_ids(connection, self._holder)
        for session_id in session_ids:
            if session_id in held_ids and tables.is_empty(connection, session_id):
                tables.delete_session(connection, session_id)
            leases.release(connection, session_id, self._holder)
