"""The writer thread: the only user of the database, for all sessions of a process.

It takes the items of the queue, writes them in one transaction, then answers the queries. If the
database fails, the user is told once and work continues without it; every later turn or query tries
again. A damaged file is moved aside and the open sessions are written to a new one.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

from acp_server.history import leases, session_reads, tables, text_index
from acp_server.history.database import Database
from acp_server.history.errors import BusyError, DamagedError, MisplacedError, StoreError
from acp_server.history.leases import BEAT_SECONDS, Holder
from acp_server.history.session_rows import Scribe
from acp_server.history.writer_queue import (
    Created,
    Inbox,
    Question,
    Recorded,
    SyncWanted,
    TurnBegun,
)
from acp_server.session.errors import (
    ArchiveError,
    SessionInUseError,
    UnknownSessionError,
)
from acp_server.session.ports.archive import CallRecord, Page, StoredSession

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

NOT_KEPT = "Sessions are no longer saved: {reason}. The server tries again with each prompt."
LOST = "Session {session_id} is no longer saved: it was deleted or opened elsewhere."
CANNOT_BE_MADE_WHOLE = (
    "Session {session_id} is no longer saved: its earlier messages were lost with the database."
)


class Writer:
    """Writes records and answers queries, in the thread that calls `run`."""

    def __init__(
        self,
        database: Database,
        inbox: Inbox,
        tell: Callable[[str], None],
        beat_seconds: float = BEAT_SECONDS,
    ) -> None:
        """Set up; while this process holds sessions, it sends a heartbeat every `beat_seconds`."""
        self._beat_seconds = beat_seconds
        self._database = database
        self._inbox = inbox
        self._tell = tell
        self._told: set[str] = set()
        # One identity for the process's lifetime; leases outlive a reopened database.
        self._here = Holder()
        self._scribes: dict[str, Scribe] = {}
        self._problem: str | None = None
        """Why nothing can be saved, while that is so."""
        self._is_sync_due = False
        self._is_leaving = False
        self._questions: deque[Question] = deque()
        self._next_beat_seconds = time.monotonic() + self._beat_seconds

    def run(self) -> None:
        """Write until a query asks to end."""
        try:
            self._open(self._database.open)
            while not self._is_leaving:
                self._work()
        finally:
            self._database.close()
            for question in self._questions:  # taken from the queue, but not answered yet
                question.give_up()

    def read(self, session_id: str) -> StoredSession:
        """Return a stored session."""
        return self._reading(partial(session_reads.load, session_id=session_id))

    def page(self, cwd: Path | None, cursor: str | None) -> Page:
        """Return a page of stored sessions."""
        return self._reading(partial(session_reads.page, cwd=cwd, cursor=cursor, here=self._here))

    def resume(self, session_id: str) -> None:
        """Take over a stored session, unless another live process holds it."""
        if session_id in self._scribes:
            return
        scribe = self._new_scribe(session_id)
        self._writing(partial(self._take_over, scribe=scribe))
        self._scribes[session_id] = scribe

    def delete(self, session_id: str) -> None:
        """Delete a session."""
        self._writing(partial(tables.forget, session_id=session_id))
        self._scribes.pop(session_id, None)

    def release(self, session_id: str) -> None:
        """Give up a session; unsaved records are tried one last time."""
        if session_id in self._scribes:
            self._try_again()
        if self._scribes.pop(session_id, None) is not None and self._problem is None:
            self._writing(partial(self._give_back, session_ids=[session_id]))

    def leave(self) -> None:
        """Give up all sessions and end; unsaved records are tried one last time."""
        self._is_leaving = True
        if self._scribes:
            self._try_again()
        session_ids = list(self._scribes)
        self._scribes = {}
        if session_ids and self._problem is None:
            self._writing(partial(self._give_back, session_ids=session_ids))

    def _work(self) -> None:
        """Process the queued items, or send a heartbeat."""
        for item in self._inbox.wait(self._patience_seconds()):
            if isinstance(item, tuple):
                self._take(*item)
            else:
                self._questions.append(item)
        # Records before queries: a query may only be answered once everything before it is written.
        self._flush()
        self._answer()
        if self._is_sync_due or self._patience_seconds() == 0.0:
            self._sync()

    def _answer(self) -> None:
        """Answer all queries, and wake their tasks in one hop: no session goes ahead of others."""
        for question in self._questions:
            question.answer(self)
        answered, self._questions = self._questions, deque()
        if answered:
            answered[0].hop(lambda: _wake(answered))

    def _patience_seconds(self) -> float | None:
        """Return the time until the next heartbeat; None while no session is held."""
        if not self._scribes:
            return None
        return max(0.0, self._next_beat_seconds - time.monotonic())

    def _take(self, session_id: str, recorded: Recorded) -> None:
        if isinstance(recorded, Created):
            self._scribes[session_id] = self._new_scribe(session_id)
        scribe = self._scribes.get(session_id)
        if scribe is None:  # the session was closed, deleted or lost
            return
        self._is_sync_due |= isinstance(recorded, SyncWanted)
        try:
            if isinstance(recorded, TurnBegun):
                self._try_again()
            scribe.take(recorded)
        except StoreError as error:
            self._fail(error)

    def _new_scribe(self, session_id: str) -> Scribe:
        scribe = Scribe(session_id, self._here, partial(self._read_call, session_id))
        if self._problem is not None:
            scribe.break_off()
        return scribe

    def _read_call(self, session_id: str, entry: int) -> CallRecord | None:
        with self._database.reading() as connection:
            return tables.read_call(connection, session_id, entry)

    def _flush(self) -> None:
        """Write the records taken so far."""
        if self._problem is None:
            try:
                self._write_rows()
            except StoreError as error:
                self._fail(error)

    def _write_rows(self) -> None:
        pending = {scribe: rows for scribe in self._scribes.values() if (rows := scribe.rows())}
        if not pending:
            return
        with self._database.transaction() as connection:
            # Inside the transaction: no other process can take a lease over between check and
            # write.
            ours = leases.mine(connection, self._here)
            lost = [scribe for scribe in pending if not scribe.is_new and scribe.id not in ours]
            for scribe, rows in pending.items():
                # A lost session belongs to another process now; writing on would mix two histories.
                for write in rows if scribe not in lost else ():
                    write(connection)
        for scribe in pending:
            scribe.settle()
        self._drop(lost, LOST)

    def _sync(self) -> None:
        """Sync to the disk, index new texts for search, and send a heartbeat."""
        self._next_beat_seconds = time.monotonic() + self._beat_seconds
        self._is_sync_due, is_durable = False, self._is_sync_due
        if self._problem is None:
            try:
                with self._database.transaction(is_durable=is_durable) as connection:
                    text_index.index_pending(connection)
                    leases.beat(connection, self._here)
            except StoreError as error:
                self._fail(error)

    def _fail(self, error: StoreError) -> None:
        """Continue without the database, or with a new one."""
        logger.warning("the session database failed: %s", error.reason)
        self._abandon()
        match error:
            case DamagedError():
                self._open(self._database.replace)
            case MisplacedError():
                self._open(self._database.open)
            case _:
                self._give_up(error)

    def _open(self, open_file: Callable[[], Sequence[str]]) -> None:
        """Open the database and write the missing state of the open sessions."""
        before = self._database.origin
        try:
            notices = open_file()
            self._recover(is_other_file=self._database.origin != before)
        except StoreError as error:
            self._abandon()
            # Replace at most once: a new file that is damaged at once points to the disk.
            if isinstance(error, DamagedError) and open_file != self._database.replace:
                self._open(self._database.replace)
            else:
                self._give_up(error)
        else:
            # The problem is solved; if it returns, report it again.
            self._told.discard(NOT_KEPT.format(reason=self._problem))
            self._problem = None
            for notice in notices:
                self._say(notice)

    def _try_again(self) -> None:
        """Reopen the database if it has failed, and write all unsaved state."""
        if self._problem is not None:
            self._open(self._database.open)

    def _recover(self, *, is_other_file: bool) -> None:
        with self._database.transaction() as connection:
            # Left by processes that ended without a release.
            for session_id in session_reads.abandoned(connection, self._here):
                tables.forget(connection, session_id)
            text_index.index_pending(connection)
            lost = [
                scribe
                for scribe in self._scribes.values()
                if not scribe.recover(connection, is_other_file=is_other_file)
            ]
        # After the transaction: tell users only about a state that was committed.
        self._drop(lost, CANNOT_BE_MADE_WHOLE if is_other_file else LOST)
        self._write_rows()

    def _abandon(self) -> None:
        """Drop all pending writes; their transaction was rolled back."""
        for scribe in self._scribes.values():
            scribe.break_off()

    def _give_up(self, error: StoreError) -> None:
        self._database.close()
        self._problem = error.reason
        self._say(NOT_KEPT.format(reason=error.reason))

    def _drop(self, lost: Sequence[Scribe], why: str) -> None:
        for scribe in lost:
            del self._scribes[scribe.id]
            self._say(why.format(session_id=scribe.id))

    def _say(self, problem: str) -> None:
        if problem not in self._told:
            self._told.add(problem)
            self._tell(problem)

    def _reading(self, action: Callable[[Connection], Answer]) -> Answer:
        with self._asked(), self._database.reading() as connection:
            return action(connection)

    def _writing(self, action: Callable[[Connection], None]) -> None:
        with self._asked(), self._database.transaction() as connection:
            action(connection)

    @contextmanager
    def _asked(self) -> Generator[None]:
        """Make the database available for a query, and report failures to its sender."""
        self._try_again()
        if self._problem is not None:
            raise ArchiveError(self._problem)
        try:
            yield
        except StoreError as error:
            # Busy passes by itself, and the records are safe: only the query fails.
            if not isinstance(error, BusyError):
                self._fail(error)
            raise ArchiveError(error.reason) from error

    def _take_over(self, connection: Connection, scribe: Scribe) -> None:
        known = connection.execute("SELECT 1 FROM sessions WHERE id = ?", (scribe.id,)).fetchone()
        if known is None:
            raise UnknownSessionError(scribe.id)
        lease = leases.find(connection, scribe.id)
        if lease is not None and not lease.is_over(self._here, leases.now_us()):
            raise SessionInUseError(scribe.id, lease.described(self._here))
        # In the transaction of the check above: two processes must not both find the lease expired.
        leases.take(connection, scribe.id, self._here)
        scribe.adopt(connection)

    def _give_back(self, connection: Connection, session_ids: Sequence[str]) -> None:
        """Release sessions this process holds, and delete the empty ones."""
        ours = leases.mine(connection, self._here)
        for session_id in session_ids:
            if session_id in ours and tables.is_empty(connection, session_id):
                tables.forget(connection, session_id)
            leases.release(connection, session_id, self._here)


def _wake(questions: Iterable[Question]) -> None:
    for question in questions:
        question.wake()
