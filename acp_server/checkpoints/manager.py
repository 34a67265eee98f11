"""Checkpoints of one session: its tools announce their changes here, and undo reads them.

Storing never fails a turn and never delays it for long: if something cannot be stored, the user is
informed once and the turn goes on. All disk work runs in one thread at a time.
"""

import logging
import os
import time
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Event as ThreadEvent
from typing import TypeVar, TypeVarTuple, Unpack

import anyio
from anyio import to_thread

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.checkpoints.errors import CheckpointError, CheckpointReadError
from acp_server.checkpoints.manifests import Manifest
from acp_server.checkpoints.other_turns import OtherTurn
from acp_server.checkpoints.records import RecordedChange, TurnOrigin, TurnRecord
from acp_server.checkpoints.store import CheckpointStore, store_directory
from acp_server.checkpoints.turn_recorder import (
    TouchedFile,
    TurnRecorder,
    complete,
)
from acp_server.checkpoints.workspace_snapshots import WorkspaceSnapshots
from acp_server.startup.fast_dataclass import frozen_dataclass

logger = logging.getLogger(__name__)

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")
BackgroundTask = Callable[[], Coroutine[object, object, None]]

CANNOT_STORE = (
    "Not all changes from now on can be undone, because they could not be stored: {reason}. "
    "`/undo` will not restore these files."
)


@frozen_dataclass
class SnapshotScope:
    """Identity of a session, and where its checkpoints are stored."""

    session_id: str
    roots: tuple[Path, ...]
    """Absolute; the session's own directory first."""
    config_home: Path
    """This program's own directory."""
    environment: Mapping[str, str]
    """Environment variables for git."""
    new_id: Callable[[], str]
    """Returns the id of the checkpoint of the turn that begins; later ones sort behind it."""
    title: Callable[[], str] = str
    """Returns the session's title."""


@dataclass(slots=True)
class CommandRun:
    """A command that runs."""

    started_at: float
    """Seconds since 1970."""
    is_alone: bool
    """Whether no other command ran meanwhile: its changes could not be told apart."""


class CheckpointManager:
    """Stores file states before they change, for one session."""

    def __init__(
        self,
        scope: SnapshotScope,
        rules: CheckpointConfig,
        notify: Callable[[str], None],
        spawn: Callable[[BackgroundTask], None] | None = None,
    ) -> None:
        """Prepare; nothing is read or written before a file is to be changed.

        With `spawn`, the files of a cancelled turn are stored in the background.
        """
        self._scope = scope
        self._config = rules
        self._notify = notify
        self._spawn = spawn
        self._notified: set[str] = set()
        store = CheckpointStore(store_directory(scope.config_home, scope.roots[0].resolve()), rules)
        self._store = store
        self._snapshots = WorkspaceSnapshots(
            store, scope.roots, scope.config_home, scope.environment
        )
        # Serializes the disk work of a session.
        self._thread_limiter = anyio.CapacityLimiter(1)
        self._turn: TurnRecorder | None = None
        self._is_pruned = False
        self._turn_lock = anyio.Lock()
        self._is_storing = False
        self._runs: list[CommandRun] = []
        self._edits = 0
        self._edits_done = anyio.Event()

    @property
    def is_enabled(self) -> bool:
        """Whether checkpoints are enabled."""
        return self._config.is_enabled

    @asynccontextmanager
    async def turn(self, title: str, undoes: str = "") -> AsyncGenerator[str]:
        """Record the changes made inside; yield the id of the record.

        `undoes` is the id of the first record that is undone inside, if any.
        """
        scope = self._scope
        origin = TurnOrigin(
            scope.session_id, title, time.time(), undoes, scope.title(), os.getpid()
        )
        turn = TurnRecorder(self._store, self._snapshots, TurnRecord(scope.new_id(), origin))
        self._turn = turn if self._config.is_enabled else None
        is_cancelled = False
        try:
            yield turn.record.id
        except anyio.get_cancelled_exc_class():
            is_cancelled = True
            raise
        finally:
            # A cancelled turn may have a command whose snapshot is still being taken in a thread.
            if turn.has_record or is_cancelled:
                await self._close_turn(turn, is_awaited=not is_cancelled)
            if turn.is_incomplete:
                self._store_rest()
            # The next turn may have started while this one was being closed.
            if self._turn is turn:
                self._turn = None

    async def _close_turn(self, turn: TurnRecorder, *, is_awaited: bool) -> None:
        """Close a turn; a cancelled caller does not wait for it, but later disk work does."""
        is_closed = anyio.Event()

        async def close() -> None:
            # Without the shield, cancellation would leave the record open.
            with anyio.CancelScope(shield=True):
                await self._try_in_thread(turn.close)
            is_closed.set()

        if self._spawn is None:
            await close()
        else:
            self._spawn(close)
            if is_awaited:
                await is_closed.wait()

    @asynccontextmanager
    async def editing(self, touched: Sequence[TouchedFile]) -> AsyncGenerator[None]:
        """Store the state before an edit, which is made inside.

        No snapshot is taken meanwhile: it would contain a half-written file.
        """
        async with self._turn_lock:
            if self._turn is not None:
                await self._try_in_thread(self._turn.before_edit, touched)
            # Under the lock: a snapshot that waits for edits must not miss this one.
            self._edits += 1
        try:
            yield
        finally:
            self._edits -= 1
            # Wake waiters, then use a new event: an anyio event cannot be reset.
            if not self._edits:
                self._edits_done.set()
                self._edits_done = anyio.Event()

    async def after_edit(self, touched: Sequence[TouchedFile]) -> None:
        """Store the state after an edit."""
        if self._turn is not None:
            await self._try_in_thread(self._turn.after_edit, touched)

    async def store_or_fail(self, touched: Sequence[TouchedFile]) -> None:
        """Store files that are about to be overwritten, or fail.

        Raises:
            CheckpointError: they cannot be stored.
            OSError: they cannot be stored.
        """
        if self._turn is not None:
            await self._in_thread(self._turn.before_edit, touched)

    async def before_command(self) -> None:
        """Store all files of the workspace before a turn's first command; later calls do nothing.

        Takes no longer than the settings allow.
        """
        async with self._turn_lock:
            if self._turn is None or not self._turn.is_snapshot_due:
                return
            # An edit that hangs must not block the command.
            with anyio.move_on_after(self._config.snapshot_seconds):
                while self._edits:
                    await self._edits_done.wait()
            await self._try_in_thread(self._turn.before_command)
            for reason in self._turn.failures:
                self._notify_once(reason)

    @asynccontextmanager
    async def command(self) -> AsyncGenerator[CommandRun]:
        """Run a command inside, after the snapshot that it needs."""
        await self.before_command()
        run = CommandRun(time.time(), is_alone=not self._runs)
        for other in self._runs:
            other.is_alone = False
        self._runs.append(run)
        try:
            yield run
        finally:
            self._runs.remove(run)

    async def changes_of(self, run: CommandRun) -> Sequence[RecordedChange]:
        """Return the files that a command changed; none if that cannot be told."""
        if self._turn is None or not run.is_alone:
            return ()
        async with self._turn_lock:
            if self._edits:  # by a sub-agent: a file may be half written
                return ()
            try:
                return await self._in_thread(self._turn.after_command, run.started_at)
            except (CheckpointError, OSError) as error:  # only the view of the call lacks them
                logger.info("could not compare files after a command: %s", error)
                return ()

    async def read_versions(self, change: RecordedChange) -> tuple[bytes | None, bytes | None]:
        """Return a file's contents before and after a change.

        Raises:
            CheckpointError: they cannot be read.
            OSError: they cannot be read.
        """
        return await self._in_thread(self._read_versions, change)

    def _read_versions(self, change: RecordedChange) -> tuple[bytes | None, bytes | None]:
        if change.before is not None:
            # Of a file that was never changed before, only the user's repository has the content.
            self._snapshots.adopt([change.before.blob])
        read = self._store.objects.read
        before, after = change.before, change.after
        return (before and read(before.blob), after and read(after.blob))

    async def records(self) -> Sequence[TurnRecord]:
        """Return the records of this session, the newest first."""
        found = await self._in_thread(self._store.read_all)
        return [each for each in found if each.origin.session_id == self._scope.session_id]

    async def other_turns(self) -> Sequence[OtherTurn]:
        """Return the turns of other sessions in this workspace, the newest first."""
        return await self._in_thread(self._read_other_turns)

    async def complete(self, record: TurnRecord) -> TurnRecord:
        """Return a record with all changes of its turn, even if the turn was interrupted.

        Raises:
            CheckpointError: the changes cannot be determined.
        """
        return await self._in_thread(complete, record, self._store, self._snapshots)

    async def read(self, blob: str) -> bytes:
        """Return stored content.

        Raises:
            CheckpointReadError: it is missing or damaged.
        """
        return await self._in_thread(self._store.objects.read, blob)

    async def mark_undone(self, records: Sequence[TurnRecord], undo: str) -> None:
        """Store that records, the newest first, were undone by the record with the id `undo`.

        Undoing an undo restores whether the turns it concerned were undone before it.
        """
        await self._try_in_thread(self._write_undone, records, undo)

    def _store_rest(self) -> None:
        """Store in the background what time did not suffice for, to cover later turns."""
        if self._spawn is None or self._is_storing:
            return
        self._is_storing = True

        async def store() -> None:
            is_stopped = ThreadEvent()
            try:
                # Without the limiter: a turn must not wait for it. The store's lock is held for
                # some files at a time only.
                await to_thread.run_sync(
                    self._snapshots.store_all, is_stopped.is_set, abandon_on_cancel=True
                )
            except (CheckpointError, OSError) as error:
                logger.info("could not store all files in the background: %s", error)
            finally:
                is_stopped.set()  # a cancelled task does not end the thread
                self._is_storing = False

        self._spawn(store)

    async def prune(self) -> None:
        """Delete checkpoints that are too old or take too much space, once per process."""
        if not self._is_pruned and self._store.directory.exists():
            self._is_pruned = True
            try:
                await self._in_thread(self._snapshots.prune)
            except (CheckpointError, OSError) as error:  # another server prunes
                logger.info("could not delete old checkpoints: %s", error)

    def _read_other_turns(self) -> Sequence[OtherTurn]:
        session_id, found = self._scope.session_id, self._store.read_all()
        others = [each for each in found if each.origin.session_id != session_id]
        return [OtherTurn(each, self._manifest_if_running(each)) for each in others]

    def _manifest_if_running(self, record: TurnRecord) -> Manifest | None:
        """Return the files before a running turn's first command; None if it has run none."""
        if record.is_closed or not _is_running(record.origin.process_id):
            return None
        try:
            return self._store.read_manifest(record.id)
        except CheckpointReadError:
            return None

    def _write_undone(self, records: Sequence[TurnRecord], undo: str) -> None:
        concerned = {each.id: each for each in records}
        is_undone: dict[str, bool] = {}
        for record in records:
            if record.origin.undoes and not is_undone.get(record.id, record.is_undone):
                is_undone |= record.undone_before or {record.origin.undoes: False}
            is_undone[record.id] = True
        before: dict[str, bool] = {}
        for record_id, value in is_undone.items():
            record = concerned.get(record_id) or self._store.read_if_exists(record_id)
            if record is not None:
                before[record_id] = record.is_undone
                self._store.write(replace(record, is_undone=value, is_closed=True))
        # Without restored files the undo has no record.
        if (record := self._store.read_if_exists(undo)) is not None:
            self._store.write(replace(record, undone_before=before))

    async def _try_in_thread(
        self, work: Callable[[Unpack[Arguments]], object], *arguments: *Arguments
    ) -> None:
        """Run disk work in a thread; tell the user why if it fails."""
        try:
            await self._in_thread(work, *arguments)
        except CheckpointError as error:
            self._notify_once(error.reason)
        except OSError as error:
            self._notify_once(error.strerror or str(error))

    def _notify_once(self, reason: str) -> None:
        if reason not in self._notified:
            self._notified.add(reason)
            self._notify(CANNOT_STORE.format(reason=reason))

    async def _in_thread(self, work: Callable[[Unpack[Arguments]], T], *arguments: *Arguments) -> T:
        # An abandoned thread frees the limiter but may still run; `TurnRecorder` has a lock.
        return await to_thread.run_sync(
            work, *arguments, abandon_on_cancel=True, limiter=self._thread_limiter
        )


def _is_running(process_id: int) -> bool:
    """Return whether a process of this number runs; any user's counts."""
    if not process_id:
        return False
    try:
        os.kill(process_id, 0)  # signal 0 only checks
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
