"""The checkpoints of one session: what its tools tell before they change something, and its undos.

Keeping never fails and never holds a turn up for long: what cannot be kept is told once, and work
goes on. All work on disk happens in one thread after the other.
"""

import logging
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar, TypeVarTuple, Unpack

import anyio
from anyio import to_thread

from acp_server.checkpoints.errors import CheckpointError
from acp_server.checkpoints.looking import WorkspaceLook
from acp_server.checkpoints.records import Record
from acp_server.checkpoints.rules import CheckpointRules
from acp_server.checkpoints.store import CheckpointStore, folder_of
from acp_server.checkpoints.turns import OpenTurn, Touched, completed, new_record, origin_now
from acp_server.frozen import frozen

logger = logging.getLogger(__name__)

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")
Task = Callable[[], Coroutine[object, object, None]]

CANNOT_KEEP = (
    "What is changed from here on cannot be kept, or not all of it: {reason}. `/undo` will not "
    "bring that back."
)


@frozen
class Ground:
    """Where a session works, and where its checkpoints go."""

    session_id: str
    roots: tuple[Path, ...]
    """Absolute; the session's own folder first."""
    own_folder: Path
    """Where this program keeps its own things."""
    variables: Mapping[str, str]
    """What git is given of our environment."""


class Keeper:
    """Keeps what files were, for one session."""

    def __init__(
        self,
        ground: Ground,
        rules: CheckpointRules,
        tell: Callable[[str], None],
        spawn: Callable[[Task], None] | None = None,
    ) -> None:
        """Prepare; nothing is read or written before something is to be changed.

        With `spawn`, nobody waits for what a cancelled turn has made to be kept.
        """
        self._ground = ground
        self._rules = rules
        self._tell = tell
        self._spawn = spawn
        self._told: set[str] = set()
        store = CheckpointStore(folder_of(ground.own_folder, ground.roots[0].resolve()), rules)
        self._store = store
        self._look = WorkspaceLook(store, ground.roots, ground.own_folder, ground.variables)
        self._one_thread = anyio.CapacityLimiter(1)
        self._turn: OpenTurn | None = None
        self._is_tidy = False
        self._order = anyio.Lock()
        self._edits = 0
        self._is_still = anyio.Event()

    @property
    def is_enabled(self) -> bool:
        """Whether anything is kept at all."""
        return self._rules.is_enabled

    @asynccontextmanager
    async def turn(
        self, title: str, position: int, prompt_digest: Callable[[], str], undoes: str = ""
    ) -> AsyncGenerator[None]:
        """Keep what is changed inside; `prompt_digest` is asked when the turn is over.

        `undoes` is the id of a record, if it is taken back inside.
        """
        origin = origin_now(self._ground.session_id, title, position, undoes)
        turn = OpenTurn(self._store, self._look, new_record(origin))
        self._turn = turn if self._rules.is_enabled else None
        is_cancelled = False
        try:
            yield
        except anyio.get_cancelled_exc_class():
            is_cancelled = True
            raise
        finally:
            if turn.has_record or is_cancelled:
                close = partial(self._close, turn, prompt_digest())
                await self._end(close, is_awaited=not is_cancelled)
            if self._turn is turn:
                self._turn = None

    async def _end(self, close: Task, *, is_awaited: bool) -> None:
        """Have a turn closed; whoever cancels does not wait for it, and the next in line does."""
        if self._spawn is None:
            await close()
            return
        is_closed = anyio.Event()

        async def work() -> None:
            await close()
            is_closed.set()

        self._spawn(work)
        if is_awaited:
            await is_closed.wait()

    async def _close(self, turn: OpenTurn, prompt_digest: str) -> None:
        with anyio.CancelScope(shield=True):
            await self._tried(turn.close, prompt_digest)

    @asynccontextmanager
    async def editing(self, touched: Sequence[Touched]) -> AsyncGenerator[None]:
        """Keep what an edit starts from, before it is done inside.

        No snapshot is taken meanwhile: it would see a file that is half written.
        """
        async with self._order:
            if self._turn is not None:
                await self._tried(self._turn.before_edit, touched)
            self._edits += 1
        try:
            yield
        finally:
            self._edits -= 1
            if not self._edits:
                self._is_still.set()
                self._is_still = anyio.Event()

    async def after_edit(self, touched: Sequence[Touched]) -> None:
        """Keep what an edit has made."""
        if self._turn is not None:
            await self._tried(self._turn.after_edit, touched)

    async def secure(self, touched: Sequence[Touched]) -> None:
        """Keep what is about to be lost, for certain.

        Raises:
            CheckpointError: it cannot be kept.
            OSError: likewise.
        """
        if self._turn is not None:
            await self._in_thread(self._turn.before_edit, touched)

    async def before_command(self) -> None:
        """Keep all files of the workspace, before a turn's first command; later ones cost nothing.

        It takes no longer than the rules say.
        """
        async with self._order:
            if self._turn is None or not self._turn.is_snapshot_due:
                return
            with anyio.move_on_after(self._rules.snapshot_seconds):
                while self._edits:
                    await self._is_still.wait()
            await self._tried(self._turn.before_command)
            for fault in self._turn.faults:
                self._say(fault)

    async def records(self) -> Sequence[Record]:
        """Return what was kept of this session, the newest first."""
        found = await self._in_thread(self._store.all)
        return [each for each in found if each.origin.session_id == self._ground.session_id]

    async def completed(self, record: Record) -> Record:
        """Return a record with all that can be told of its turn, even if that was cut short.

        Raises:
            CheckpointError: it cannot be told.
        """
        return await self._in_thread(completed, record, self._store, self._look)

    async def read(self, blob: str) -> bytes:
        """Return bytes that were kept.

        Raises:
            LostError: they are not there, or damaged.
        """
        return await self._in_thread(self._store.objects.read, blob)

    async def note_undone(self, record: Record, *, is_undone: bool) -> None:
        """Keep whether a record was taken back; of an undo, that what it took back holds again."""
        await self._tried(self._mark, record, is_undone)

    async def tidy(self) -> None:
        """Forget what is too old or too much, once for a process."""
        if not self._is_tidy and self._store.folder.exists():
            self._is_tidy = True
            try:
                await self._in_thread(self._look.prune)
            except (CheckpointError, OSError) as error:  # another server is at it, or will be
                logger.info("old checkpoints could not be cleared away: %s", error)

    def _mark(self, record: Record, is_undone: bool) -> None:  # noqa: FBT001  called by position
        self._store.write(replace(record, is_undone=is_undone, is_closed=True))
        if record.origin.undoes:
            self._mark(self._store.read(record.origin.undoes), not is_undone)

    async def _tried(
        self, work: Callable[[Unpack[Arguments]], object], *arguments: *Arguments
    ) -> None:
        """Do something in a thread; tell why if it cannot be done."""
        try:
            await self._in_thread(work, *arguments)
        except CheckpointError as error:
            self._say(error.reason)
        except OSError as error:
            self._say(error.strerror or str(error))

    def _say(self, reason: str) -> None:
        if reason not in self._told:
            self._told.add(reason)
            self._tell(CANNOT_KEEP.format(reason=reason))

    async def _in_thread(self, work: Callable[[Unpack[Arguments]], T], *arguments: *Arguments) -> T:
        return await to_thread.run_sync(
            work, *arguments, abandon_on_cancel=True, limiter=self._one_thread
        )
