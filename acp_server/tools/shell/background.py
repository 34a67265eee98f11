"""Commands that run while the agent does other things: servers, watchers, long builds.

Owns the commands of one session that nobody waits for, and their latest output.
"""

import secrets
from collections.abc import Sequence
from pathlib import Path

import anyio

from acp_server.frozen import frozen
from acp_server.session.editor import Exit
from acp_server.tools.shell.backlog import Backlog, Excerpt
from acp_server.tools.shell.child import Child
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.session import ShellSession

MOST_RUNNING = 16
MOST_REMEMBERED = 64
"""Ended commands are dropped beyond it, the oldest first."""
KEEP_BYTES = 200_000
WRITE_SECONDS = 5.0


@frozen
class BackgroundCommand:
    """A command as it stands. `exit` is None while it runs."""

    id: str
    command: str
    cwd: Path
    running_seconds: float
    total_lines: int
    exit: Exit | None
    is_unconfined: bool = False
    """Whether it was let out of the sandbox."""


@frozen
class Poll:
    """A command as it stands, and what it printed since the last poll.

    `lost_bytes` were printed before that text, and are no longer kept.
    """

    state: BackgroundCommand
    text: str
    lost_bytes: int


class BackgroundCommands:
    """The background commands of one session."""

    def __init__(self, session: ShellSession) -> None:
        """Prepare; each command is followed by one of the session's tasks, until `close`."""
        self._session = session
        self._running: dict[str, _Running] = {}
        self._is_closed = False

    async def start(
        self, command: str, cwd: Path, *, is_unconfined: bool = False
    ) -> BackgroundCommand:
        """Start a command; its stdin is a pipe that `write` feeds.

        Raises:
            ShellError: it cannot be started, or too many are running.
        """
        self._check_room()
        running = _Running(self._new_id(), command, cwd, is_unconfined=is_unconfined)
        self._running[running.id] = running  # takes its place before anything is awaited
        try:
            child = running.child = await self._session.start(
                command, cwd, "pipe", is_unconfined=is_unconfined
            )
        finally:
            if running.child is None:
                del self._running[running.id]
                running.is_over.set()  # for a `close` that waits meanwhile
        self._session.tasks.start_soon(self._follow, running, child)
        if self._is_closed:  # meanwhile
            running.scope.cancel()
        return running.state()

    def list(self) -> Sequence[BackgroundCommand]:
        """Return all commands, in the order of their starts."""
        return [running.seen() for running in self._running.values()]

    def take_ends(self) -> Sequence[BackgroundCommand]:
        """Return the commands that have ended and were not seen so by anybody yet; once."""
        ended = (each for each in self._running.values() if each.is_over.is_set())
        return [running.seen() for running in ended if not running.is_end_seen]

    def poll(self, command_id: str) -> Poll:
        """Return how a command stands and what is new.

        Raises:
            ShellError: there is no such command; so do all that follow.
        """
        running = self._find(command_id)
        news = running.backlog.news(is_last=running.is_over.is_set())
        return Poll(running.seen(), news.text, news.lost_bytes)

    def log(self, command_id: str, offset: int | None = None, limit: int = 200) -> Excerpt:
        """Return up to `limit` lines from line `offset` (from 0) on; without it, the last ones."""
        return self._find(command_id).backlog.excerpt(offset, limit)

    async def write(self, command_id: str, data: bytes) -> None:
        """Write to a command's stdin.

        Raises:
            ShellError: it does not read it, for some seconds or for good.
        """
        child = self._find(command_id).started()
        try:
            with anyio.fail_after(WRITE_SECONDS):
                await child.write(data)
        except BrokenPipeError as error:
            raise ShellError(f"{command_id} does not read its stdin any more") from error
        except TimeoutError as error:
            reason = f"{command_id} is not reading its stdin; some of it may have been written"
            raise ShellError(reason) from error

    def close_stdin(self, command_id: str) -> None:
        """Let a command read the end of its stdin."""
        self._find(command_id).started().close_stdin()

    async def wait(self, command_id: str, timeout_seconds: float) -> BackgroundCommand:
        """Wait for a command's end, but no longer than the timeout."""
        running = self._find(command_id)
        with anyio.move_on_after(timeout_seconds):
            await running.is_over.wait()
        return running.seen()

    async def kill(self, command_id: str) -> BackgroundCommand:
        """End a command with all that it started; if it has ended, what it left running."""
        running = self._find(command_id)
        if running.is_over.is_set():
            await self._session.end(running.started())
        running.scope.cancel()
        await running.is_over.wait()
        return running.seen()

    async def close(self) -> None:
        """End every command of the session, also what those left running that were waited for.

        Nothing can be started any more.
        """
        self._is_closed = True
        for running in self._running.values():
            running.scope.cancel()
        for running in tuple(self._running.values()):
            await running.is_over.wait()
        await self._session.end_leftovers()

    async def _follow(self, running: "_Running", child: Child) -> None:
        try:
            with running.scope:
                await self._session.follow(child, running.receive)
        finally:
            running.end(child)
            self._session.release(child)

    def _check_room(self) -> None:
        if self._is_closed:
            raise ShellError("the session is closed; no command can be started any more")
        over = [running.id for running in self._running.values() if running.is_over.is_set()]
        if len(self._running) - len(over) >= MOST_RUNNING:
            raise ShellError(
                f"{MOST_RUNNING} background commands are running, which is the most; kill one first"
            )
        for command_id in over[: max(len(self._running) - MOST_REMEMBERED + 1, 0)]:
            del self._running[command_id]

    def _new_id(self) -> str:
        while (command_id := f"proc_{secrets.token_hex(3)}") in self._running:
            pass
        return command_id

    def _find(self, command_id: str) -> "_Running":
        running = self._running.get(command_id)
        if running is None or running.child is None:
            known = ", ".join(self._running) or "there are none"
            raise ShellError(f"there is no background command {command_id!r}; known: {known}")
        return running


class _Running:
    """One background command, its output, its end."""

    def __init__(self, command_id: str, command: str, cwd: Path, *, is_unconfined: bool) -> None:
        self.id = command_id
        self.command = command
        self.cwd = cwd
        self.is_unconfined = is_unconfined
        self.is_end_seen = False
        self.child: Child | None = None
        self.scope = anyio.CancelScope()
        self.backlog = Backlog(KEEP_BYTES)
        self.is_over = anyio.Event()
        self._started = anyio.current_time()
        self._exit: Exit | None = None
        self._ended = 0.0

    async def receive(self, chunk: bytes) -> None:
        self.backlog.write(chunk)

    def end(self, child: Child) -> None:
        self.backlog.write(child.take_rest())
        self._exit = child.exit
        self._ended = anyio.current_time()
        self.is_over.set()

    def started(self) -> Child:
        if self.child is None:
            raise ShellError(f"{self.id} has not been started yet")
        return self.child

    def state(self) -> BackgroundCommand:
        until = self._ended if self.is_over.is_set() else anyio.current_time()
        return BackgroundCommand(
            self.id,
            self.command,
            self.cwd,
            running_seconds=until - self._started,
            total_lines=self.backlog.total_lines,
            exit=self._exit,
            is_unconfined=self.is_unconfined,
        )

    def seen(self) -> BackgroundCommand:
        """Return how it stands, to somebody who wants to know."""
        self.is_end_seen = self.is_over.is_set()
        return self.state()
