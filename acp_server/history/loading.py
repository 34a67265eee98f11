"""The archive as a server has it from its first moment: a front that records before it can write.

Imports SQLite and all that knows it in the writer's thread, which is begun when somebody waits for
it, or by `load`. Knows no tables.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
from anyio import from_thread, lowlevel, to_thread

from acp_server.history.inbox import (
    Created,
    Desk,
    Inbox,
    Rebuilt,
    SyncWanted,
    TurnBegun,
    TurnEnded,
)
from acp_server.session.errors import ArchiveError, SessionError, UnknownSessionError
from acp_server.session.records import Page, SessionFacts, StoredSession, TaskMessage
from acp_server.turn.conversation import Message
from acp_server.turn.events import Event, PromptReceived

if TYPE_CHECKING:
    from acp_server.session.recall import Recall

Answer = TypeVar("Answer")
Hop = Callable[[Callable[[], None]], None]
"""Has something done by the event loop, from the writer's thread."""

Write = Callable[[Path, Inbox, Callable[[str], None]], None]
"""Writes what comes into an inbox to a file, until it is asked to leave; tells of problems."""

NO_WRITER = "sessions are not kept any more: what writes them has ended"


def _write(path: Path, inbox: Inbox, tell: Callable[[str], None]) -> None:
    from acp_server.history.database import Database
    from acp_server.history.writer import Writer

    Writer(Database(path), inbox, tell).run()


class LazyArchive:
    """Keeps all sessions of a home in one file."""

    def __init__(self, path: Path, write: Write = _write) -> None:
        """Prepare; nothing is read or imported. `write` is what the thread does."""
        self._path = path
        self._write = write
        self._inbox = Inbox()
        self._thread: Thread | None = None
        self._hop: Hop = lambda action: action()
        self.on_problem: Callable[[str], None] = lambda _problem: None

    def create(self, facts: SessionFacts) -> "SessionJournal":
        """Begin to keep a session; it is written once there is a database."""
        self._inbox.record(facts.id, Created(_still(facts)))
        return SessionJournal(facts.id, self, self._inbox)

    async def load(self) -> None:
        """Import and open the database; return when records are being written."""
        await self.ask(lambda _desk: None)

    async def read(self, session_id: str) -> StoredSession:
        """Return what is kept of a session."""
        _check(session_id)
        return await self.ask(lambda desk: desk.read(session_id))

    async def resume(self, session_id: str) -> "SessionJournal":
        """Go on keeping a session; calls that were open are failed."""
        _check(session_id)
        await self.ask(lambda desk: desk.resume(session_id))
        return SessionJournal(session_id, self, self._inbox)

    async def page(self, cwd: Path | None, cursor: str | None) -> Page:
        """Return fifty of the kept sessions, those without a word only while they are open."""
        return await self.ask(lambda desk: desk.page(cwd, cursor))

    async def delete(self, session_id: str) -> None:
        """Forget a session; one that is open is not kept any more."""
        with suppress(UnknownSessionError):
            _check(session_id)
            await self.ask(lambda desk: desk.delete(session_id))

    async def close(self) -> None:
        """Write what is left and end; where nothing was recorded, nothing is begun for that."""
        if self._thread is None and not len(self._inbox):
            return
        thread = self._begun()
        if thread.is_alive():
            await self.settle(lambda desk: desk.leave())
            await to_thread.run_sync(thread.join)

    async def ask(self, action: Callable[[Desk], Answer]) -> Answer:
        """Have the writer do something and return what it says.

        Raises:
            SessionError: as the action does.
            ArchiveError: nobody writes any more.
        """
        self._begun()
        question = _Question(action, self._hop)
        self._inbox.ask(question)
        if self._inbox.is_shut:
            raise ArchiveError(NO_WRITER)
        return await question.wait()

    async def settle(self, action: Callable[[Desk], None]) -> None:
        """Have the writer do something that nobody needs when there is no writer."""
        with suppress(ArchiveError):
            await self.ask(action)

    def _begun(self) -> Thread:
        """Return the writer's thread; answers and problems come to the loop that began it."""
        if self._thread is None:
            self._hop = _hop_to(lowlevel.current_token())
            self._thread = Thread(target=self._run, name="acp-history", daemon=True)
            self._thread.start()
        return self._thread

    def _run(self) -> None:
        try:
            self._write(self._path, self._inbox, self._tell)
        finally:  # whatever ended it, nobody may wait for ever
            self._inbox.shut()

    def _tell(self, problem: str) -> None:
        self._hop(lambda: self.on_problem(problem))


class SessionJournal:
    """Keeps one session, until it is closed."""

    def __init__(self, session_id: str, archive: LazyArchive, inbox: Inbox) -> None:
        self._id = session_id
        self._archive = archive
        self._inbox = inbox

    def show(self, event: Event | PromptReceived | TaskMessage) -> None:
        """Keep an event that is shown."""
        self._inbox.record(self._id, event)

    def append(self, message: Message) -> None:
        """Keep a message behind all others."""
        self._inbox.record(self._id, message)

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Keep these messages in the place of all."""
        self._inbox.record(self._id, Rebuilt(tuple(messages)))

    def begin_turn(self) -> None:
        """Note that a turn runs. If nothing could be kept, this is when it is tried again."""
        self._inbox.record(self._id, TurnBegun())

    def end_turn(self) -> None:
        """Note that no turn runs any more."""
        self._inbox.record(self._id, TurnEnded())

    def update(self, facts: SessionFacts) -> None:
        """Keep what the facts are now."""
        self._inbox.record(self._id, _still(facts))

    async def commit(self) -> None:
        """Return when all that was recorded so far survives the end of this process."""
        await lowlevel.checkpoint()  # who comes at the same time asks right behind: none goes ahead
        await self._archive.settle(lambda _desk: None)

    def sync(self) -> None:
        """Have all that was recorded written through to the disk, and found by searches, soon."""
        self._inbox.record(self._id, SyncWanted())

    async def close(self) -> None:
        """Write what is left, and let other processes have the session."""
        await self._archive.settle(lambda desk: desk.release(self._id))


class _Question(Generic[Answer]):
    """A question to the writer, and the task that waits for its answer."""

    def __init__(self, action: Callable[[Desk], Answer], hop: Hop) -> None:
        self._action = action
        self.hop = hop
        self._is_answered = anyio.Event()
        self._answers: list[Answer] = []
        self._error: SessionError | None = None

    async def wait(self) -> Answer:
        """Return the answer, or raise the error that stands in its place."""
        await self._is_answered.wait()
        if self._error is not None:
            raise self._error
        return self._answers[0]

    def answer(self, desk: Desk) -> None:
        """Do what was asked."""
        try:
            self._answers.append(self._action(desk))
        except SessionError as error:
            self._error = error

    def wake(self) -> None:
        """Let the task go on."""
        self._is_answered.set()

    def give_up(self) -> None:
        """Say that nobody answers any more."""
        self._error = ArchiveError(NO_WRITER)
        self.hop(self.wake)


def _check(session_id: str) -> None:
    """Refuse an id that no session of ours has: clients send what they like.

    Raises:
        UnknownSessionError: it cannot even be written.
    """
    try:
        session_id.encode()
    except UnicodeEncodeError:
        raise UnknownSessionError(session_id) from None


def _still(facts: SessionFacts) -> SessionFacts:
    """Return the facts as they are at this moment: what was spent is counted on in place."""
    return replace(facts, spent=facts.spent.copy())


def _hop_to(token: lowlevel.EventLoopToken) -> Hop:
    def hop(action: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop has ended, and whoever waited with it
            from_thread.run_sync(action, token=token)

    return hop


def open_recall(home: Path) -> "Recall":
    """Return what searches the past sessions of a home, Hermes' own too; blocks on imports."""
    from acp_server.history.opening import Places
    from acp_server.history.search import PastSessions

    return PastSessions(Places(home / "acp" / "sessions.db", home / "state.db"))
