"""The writer thread: the only user of the database, for all sessions of a process.

It takes the items of the queue, writes them in one transaction, then answers the queries. If the
database fails, the user is told once and work continues without it; every later turn or query tries
again. While another program locks it, the rows are held in memory until the lock is gone.

A file that was removed or replaced is still open, so the open sessions are copied from it to the
file in its place. A damaged file is moved aside, and what can be read of it is copied to a new one:
open sessions at once, or from memory, the others step by step (`salvage`).
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

from acp_server.history import (
    leases,
    session_copy,
    session_fork,
    session_reads,
    tables,
    text_index,
)
from acp_server.history.database import LOCK_TIMEOUT_SECONDS, SessionDatabase
from acp_server.history.errors import (
    DatabaseBusyError,
    DatabaseDamagedError,
    DatabaseReplacedError,
    SessionStoreError,
)
from acp_server.history.history_pages import HistoryPages
from acp_server.history.leases import HEARTBEAT_SECONDS, LeaseHolder
from acp_server.history.salvage import Salvage
from acp_server.history.session_copy import TableRows
from acp_server.history.session_rows import SessionRowWriter
from acp_server.history.tables import TrackedCall
from acp_server.history.writer_queue import (
    PendingQuery,
    RecordedItem,
    SessionCreated,
    SyncRequested,
    TurnEnded,
    TurnStarted,
    WriterQueue,
)
from acp_server.session.errors import (
    ArchiveError,
    SessionInUseError,
    UnknownSessionError,
)
from acp_server.session.ports.archive import (
    CallRecord,
    HistoryPage,
    SessionFacts,
    SessionPage,
    SessionState,
    StoredSession,
)
from acp_server.startup.allocator import return_free_memory

logger = logging.getLogger(__name__)

QueryResult = TypeVar("QueryResult")

LOCK_RETRY_SECONDS = 0.5
LOCK_RETRY_TIMEOUT_SECONDS = 0.05
"""How long an attempt waits once the database has been locked for too long."""
LONG_TURN_RECORDS = 3_000
"""A turn with more records leaves free memory between what stays; it is given back."""
SALVAGE_SECONDS = 0.2
"""How long a salvage may keep records and queries waiting at a time."""

LOCKED = (
    "Sessions cannot be saved at the moment: {reason}. You can go on working: everything is saved "
    "as soon as that program lets go or has ended."
)
REPLACED = (
    "The session database {path} was deleted or replaced while it was in use. The open sessions "
    "are saved in the file that is there now; other sessions are only listed if it has them."
)
SALVAGED = "{count} earlier sessions were read from the damaged database and are listed again."
NOT_SAVED = "Sessions are no longer saved: {reason}. The server tries again with each prompt."
SESSION_LOST = "Session {session_id} is no longer saved: it was deleted or opened elsewhere."
HISTORY_LOST = (
    "Session {session_id} is no longer saved: its earlier messages were lost with the database."
)


class _StoredCalls:
    """Reads the calls of one session from the database, as it is open then."""

    def __init__(self, database: SessionDatabase, session_id: str) -> None:
        self._database = database
        self._session_id = session_id

    def find(self, call_id: str) -> TrackedCall | None:
        """Return the newest call with an id."""
        with self._database.read_transaction() as connection:
            return tables.find_call(connection, self._session_id, call_id)

    def read(self, entry: int) -> CallRecord | None:
        """Return the call stored in an entry."""
        with self._database.read_transaction() as connection:
            return tables.read_call(connection, self._session_id, entry)


class ArchiveWriter:
    """Writes records and answers queries, in the thread that calls `run`."""

    def __init__(
        self,
        database: SessionDatabase,
        queue: WriterQueue,
        on_problem: Callable[[str], None],
        heartbeat_seconds: float = HEARTBEAT_SECONDS,
        request_messages: Callable[[str], None] | None = None,
    ) -> None:
        """Set up; the heartbeat is sent while this process holds sessions.

        `request_messages` asks for all messages of an open session to be recorded again.
        """
        self._heartbeat_seconds = heartbeat_seconds
        self._request_messages = request_messages
        self._database = database
        self._queue = queue
        self._on_problem = on_problem
        self._reported: set[str] = set()
        # One identity for the process's lifetime; leases outlive a reopened database.
        self._holder = LeaseHolder()
        self._sessions: dict[str, SessionRowWriter] = {}
        self.problem: str | None = None
        """Message to users while sessions cannot be saved; read by other threads."""
        self._problem: str | None = None
        """Why nothing can be saved, while that is so."""
        self._lock: str | None = None
        """Why the rows are held in memory, while another program locks the database."""
        self._next_attempt_seconds = 0.0
        """When the lock is tried again."""
        self._released: set[str] = set()
        """Sessions that were closed while the database was locked."""
        self._incomplete: set[str] = set()
        """Sessions that wait for the messages they have asked for."""
        self._salvage: Salvage | None = None
        self._is_sync_due = False
        self._record_count = 0
        """Records since the last end of a turn, of all sessions."""
        self._has_turn_ended = False
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
            if self._salvage is not None:
                self._salvage.close()
            self._database.close()
            for query in self._queries:  # taken from the queue, but not answered yet
                query.fail()

    def read(self, session_id: str) -> StoredSession:
        """Return a stored session."""
        self._require_written(session_id)
        return self._run_read(partial(session_reads.load_session, session_id=session_id))

    def read_state(self, session_id: str) -> SessionState:
        """Return the state to continue a session from."""
        self._require_written(session_id)
        return self._run_read(partial(session_reads.load_state, session_id=session_id))

    def history(self, session_id: str, last_entry: int | None) -> HistoryPages:
        """Return the history of a session, which `next_page` reads."""
        self._require_written(session_id)
        row_writer = self._sessions.get(session_id)
        return HistoryPages(
            session_id, last_entry, None if row_writer is None else row_writer.turn_entry
        )

    def next_page(self, pages: HistoryPages) -> HistoryPage | None:
        """Read the next page of a history; None after the last."""
        return self._run_read(pages.next)

    def fork(
        self, session_id: str, change_facts: Callable[[SessionFacts], SessionFacts]
    ) -> SessionState:
        """Copy a session, and continue to save the copy; return the copy's state."""
        self._require_written(session_id)
        copies: list[tuple[SessionRowWriter, SessionState]] = []

        def copy(connection: Connection) -> None:
            state = session_reads.load_state(connection, session_id)
            facts = change_facts(state.facts)
            session_fork.copy_session(connection, session_id, facts)
            row_writer = self._new_session(facts.id)
            self._claim_session(connection, row_writer)
            copies.append((row_writer, replace(state, facts=facts)))

        self._run_write(copy)
        ((row_writer, state),) = copies
        self._sessions[row_writer.id] = row_writer
        return state

    def page(self, cwd: Path | None, cursor: str | None) -> SessionPage:
        """Return a page of stored sessions."""
        return self._run_read(partial(session_reads.list_page, cwd=cwd, cursor=cursor))

    def stored_ids(self) -> frozenset[str]:
        """Return the ids of all stored sessions."""
        return self._run_read(session_reads.stored_ids)

    def resume(self, session_id: str) -> None:
        """Take over a stored session, unless another live process holds it."""
        self._released.discard(session_id)
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
        if session_id not in self._sessions:
            return
        self._reopen_if_failed()
        if self._lock is not None:  # as soon as its rows are written
            self._released.add(session_id)
            return
        del self._sessions[session_id]
        if self._problem is None:
            self._run_write(partial(self._release_sessions, session_ids=[session_id]))

    def shut_down(self) -> None:
        """Give up all sessions and end; unsaved records are tried one last time."""
        self._is_shutting_down = True
        if self._sessions:
            self._reopen_if_failed()
        if self._lock is not None:
            self._try_to_write()
        session_ids = list(self._sessions)
        self._sessions = {}
        if session_ids and self._problem is None and self._lock is None:
            self._run_write(partial(self._release_sessions, session_ids=session_ids))

    def _run_once(self) -> None:
        """Process the queued items, or send a heartbeat."""
        for item in self._queue.take_batch(self._wait_seconds()):
            if isinstance(item, tuple):
                self._record(*item)
            else:
                self._queries.append(item)
        now = time.monotonic()
        # Records before queries: a query may only be answered once everything before it is written.
        # But not behind a lock of another program: that may last, and nothing is lost meanwhile.
        if self._problem is None and (self._lock is None or now >= self._next_attempt_seconds):
            self._try_to_write()
        self._return_memory()
        self._answer_queries()
        if self._is_sync_due or (self._sessions and now >= self._next_heartbeat_seconds):
            self._sync()
        if self._salvage is not None and self._problem is None and self._lock is None:
            self._continue_salvage(self._salvage)

    def _return_memory(self) -> None:
        """Return the memory of a long turn's records, once they are written."""
        if self._has_turn_ended:
            if self._record_count > LONG_TURN_RECORDS:
                self._database.free_memory()
                return_free_memory()
            self._record_count, self._has_turn_ended = 0, False

    def _require_written(self, session_id: str) -> None:
        """Write an open session's last rows; fail if they are only in memory.

        Raises:
            ArchiveError: the database is still locked; what it has of the session is too old.
        """
        lock = self._lock
        if lock is not None and session_id in self._sessions:
            self._try_to_write()
            if self.problem is not None:
                raise ArchiveError(lock)

    def _try_to_write(self) -> None:
        """Write the records taken so far, or go on without the database."""
        if not self._database.is_open:
            self._open(self._database.open)
            return
        try:
            ready = [
                self._sessions[session_id]
                for session_id in self._incomplete & self._sessions.keys()
                if not self._sessions[session_id].lacks_messages
            ]
            if ready:
                self._recover(ready, {}, is_other_file=True)
            self._write_rows()
        except SessionStoreError as error:
            self._handle_failure(error)

    def _wait_for_lock(self, error: DatabaseBusyError) -> None:
        """Hold the rows in memory until another program unlocks the database."""
        self._lock = error.reason
        self._next_attempt_seconds = time.monotonic() + LOCK_RETRY_SECONDS
        # Turns must not wait for each attempt as long as for the first one.
        self._database.set_lock_timeout(LOCK_RETRY_TIMEOUT_SECONDS)
        self.problem = LOCKED.format(reason=error.reason)
        self._report(self.problem)

    def _end_lock(self) -> None:
        """Note that a transaction was possible again."""
        if self._lock is None:
            return
        self._reported.discard(LOCKED.format(reason=self._lock))
        self._lock = self.problem = None
        self._database.set_lock_timeout(LOCK_TIMEOUT_SECONDS)
        released, self._released = self._released, set()
        for session_id in released:
            with suppress(ArchiveError):  # the lease expires when this process ends
                self.release(session_id)

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
        """Return the time until something is due; None while there is nothing."""
        if self._salvage is not None and self._lock is None:
            return 0.0
        due = [self._next_heartbeat_seconds] if self._sessions else []
        due += [self._next_attempt_seconds] if self._lock is not None else []
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _record(self, session_id: str, recorded: RecordedItem) -> None:
        if isinstance(recorded, SessionCreated):
            self._sessions[session_id] = self._new_session(session_id)
        row_writer = self._sessions.get(session_id)
        if row_writer is None:  # the session was closed, deleted or lost
            return
        self._is_sync_due |= isinstance(recorded, SyncRequested)
        self._has_turn_ended |= isinstance(recorded, TurnEnded)
        self._record_count += 1
        try:
            if isinstance(recorded, TurnStarted):
                self._reopen_if_failed()
            row_writer.record(recorded)
        except SessionStoreError as error:
            self._handle_failure(error)

    def _new_session(self, session_id: str) -> SessionRowWriter:
        reader = _StoredCalls(self._database, session_id)
        row_writer = SessionRowWriter(session_id, self._holder, reader)
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
        # A lock is over once a transaction is possible, even if there is nothing to write.
        if not pending and self._lock is None:
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
        self._end_lock()

    def _sync(self) -> None:
        """Sync to the disk, index new texts for search, and send a heartbeat.

        A requested sync that fails stays due: it is repeated once the database can be used again.
        """
        self._next_heartbeat_seconds = time.monotonic() + self._heartbeat_seconds
        if self._problem is not None or self._lock is not None:
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
        if error.reason != self._lock:
            logger.warning("the session database failed: %s", error.reason)
        match error:
            case DatabaseBusyError():
                self._wait_for_lock(error)
            case DatabaseDamagedError():
                self._open(self._database.replace, self._copy_open_sessions())
            case DatabaseReplacedError():
                self._open(self._database.open, self._copy_open_sessions())
            case _:
                self._suspend_all()
                self._disable(error)

    def _copy_open_sessions(self) -> Mapping[str, Sequence[TableRows]]:
        """Return the rows of the open sessions, as far as the file that is open can be read."""
        copies: dict[str, Sequence[TableRows]] = {}
        for session_id, row_writer in self._sessions.items():
            if row_writer.is_new or row_writer.is_suspended:
                continue
            try:
                with self._database.read_transaction(may_be_removed=True) as connection:
                    if leases.find(connection, session_id) is not None:
                        copies[session_id] = session_copy.read_session(connection, session_id)
            except SessionStoreError as error:
                logger.warning("session %s cannot be copied: %s", session_id, error.reason)
        return copies

    def _open(
        self,
        open_file: Callable[[], Sequence[str]],
        copies: Mapping[str, Sequence[TableRows]] | None = None,
    ) -> None:
        """Open the database and write the missing state of the open sessions.

        `copies` are the rows of open sessions, if the file that was open is lost.
        """
        previous_origin = self._database.origin
        previous_damaged = self._database.damaged_path
        previous_problem = self._problem
        try:
            notices = list(open_file())
            is_other_file = copies is not None or self._database.origin != previous_origin
            self._problem = self.problem = None
            self._recover(list(self._sessions.values()), copies or {}, is_other_file=is_other_file)
        except DatabaseBusyError as error:
            self._wait_for_lock(error)
        except SessionStoreError as error:
            self._suspend_all()
            # Replace at most once: a new file that is damaged at once points to the disk.
            if isinstance(error, DatabaseDamagedError) and open_file != self._database.replace:
                self._open(self._database.replace)
            else:
                self._disable(error)
        else:
            self._end_lock()
            # Only now: on a full disk the file opens, but nothing can be written.
            # If the problem returns, it is reported again.
            self._reported.discard(NOT_SAVED.format(reason=previous_problem))
            damaged = self._database.damaged_path
            if damaged is not None and damaged != previous_damaged:
                self._salvage = Salvage(damaged)
            elif copies is not None and not notices:
                notices.append(REPLACED.format(path=self._database.path))
            for notice in notices:
                self._report(notice)

    def _reopen_if_failed(self) -> None:
        """Reopen the database if it has failed, and write all unsaved state."""
        if self._problem is not None:
            self._open(self._database.open)

    def _recover(
        self,
        row_writers: Sequence[SessionRowWriter],
        copies: Mapping[str, Sequence[TableRows]],
        *,
        is_other_file: bool,
    ) -> None:
        """Bring the open database to the state of open sessions."""
        lost: list[SessionRowWriter] = []
        with self._database.transaction() as connection:
            # Left by processes that ended without a release.
            for session_id in session_reads.find_abandoned(connection, self._holder):
                tables.delete_session(connection, session_id)
            text_index.index_pending(connection)
            for row_writer in row_writers:
                if row_writer.id in copies:
                    is_recovered = self._insert_copy(connection, row_writer, copies[row_writer.id])
                else:
                    is_recovered = self._recover_one(
                        connection, row_writer, is_other_file=is_other_file
                    )
                if not is_recovered:
                    lost.append(row_writer)
        # After the transaction: tell users only about a state that was committed.
        self._incomplete -= {each.id for each in row_writers}
        for row_writer in lost:
            if is_other_file and row_writer.lacks_messages and self._request_messages is not None:
                self._incomplete.add(row_writer.id)
                self._request_messages(row_writer.id)
        gone = [each for each in lost if each.id not in self._incomplete]
        self._drop_sessions(gone, HISTORY_LOST if is_other_file else SESSION_LOST)
        self._write_rows()

    def _insert_copy(
        self, connection: Connection, row_writer: SessionRowWriter, copy: Sequence[TableRows]
    ) -> bool:
        """Write a session as it was in another file; return False if another process has it."""
        if self._is_held_by_another(connection, row_writer.id):
            return False
        tables.delete_session(connection, row_writer.id)
        for each in copy:
            session_copy.write_rows(connection, each)
        leases.claim(connection, row_writer.id, self._holder)
        return True

    def _recover_one(
        self, connection: Connection, row_writer: SessionRowWriter, *, is_other_file: bool
    ) -> bool:
        """Write a session's missing state from memory; return False if that is impossible."""
        if is_other_file and not row_writer.is_new:
            row_writer.suspend()
            if self._is_held_by_another(connection, row_writer.id):
                return False
        if is_other_file and not row_writer.lacks_messages:
            # An older state, if the file is a copy that was put back.
            tables.delete_session(connection, row_writer.id)
        if not row_writer.is_suspended:
            return True
        return row_writer.recover(connection, is_other_file=is_other_file)

    def _is_held_by_another(self, connection: Connection, session_id: str) -> bool:
        lease = leases.find(connection, session_id)
        if lease is None or lease.holder.key == self._holder.key:
            return False
        return not lease.has_expired(self._holder, leases.now_us())

    def _continue_salvage(self, salvage: Salvage) -> None:
        """Copy some more of a damaged file."""
        until_seconds = time.monotonic() + SALVAGE_SECONDS
        is_more = True
        try:
            while is_more and time.monotonic() < until_seconds:
                with self._database.transaction() as connection:
                    is_more = salvage.step(connection, self._sessions.keys(), leases.now_us())
        except SessionStoreError as error:
            self._handle_failure(error)
            is_more = isinstance(error, DatabaseBusyError)
        if not is_more:
            self._salvage = None
            salvage.close()
            self._is_sync_due = True
            if salvage.session_ids:
                self._report(SALVAGED.format(count=len(salvage.session_ids)))

    def _suspend_all(self) -> None:
        """Drop all pending writes; their transaction was rolled back."""
        for row_writer in self._sessions.values():
            row_writer.suspend()

    def _disable(self, error: SessionStoreError) -> None:
        self._database.close()
        self._problem = error.reason
        self.problem = NOT_SAVED.format(reason=error.reason)
        self._report(self.problem)

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
        if self._lock is not None and not self._database.is_open:
            self._open(self._database.open)
        if self._problem is not None or not self._database.is_open:
            raise ArchiveError(self._problem or self._lock or "the session database is not open")
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
        """Release sessions this process holds."""
        for session_id in session_ids:
            leases.release(connection, session_id, self._holder)
