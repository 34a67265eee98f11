"""Background commands of one session: servers, watchers and long builds.

Owns the commands that no tool call is waiting for, together with their latest output.
"""

import secrets
from collections.abc import Sequence
from pathlib import Path

import anyio

from acp_server.session.ports.editor import TerminalExit
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.shell.child import Child
from acp_server.tools.shell.command_access import CONFINED, CommandAccess
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.recent_output import NewOutput, OutputExcerpt, RecentOutput
from acp_server.tools.shell.session import ShellSession
from acp_server.tools.shell.spill import SpillFile
from acp_server.tools.shell.text_pattern import TextPattern

MAX_RUNNING = 16
MAX_REMEMBERED = 64
"""Ended commands beyond this number are dropped, oldest first."""
OUTPUT_BUFFER_BYTES = 200_000
WRITE_TIMEOUT_SECONDS = 5.0
SEARCH_INTERVAL_SECONDS = 0.05
"""Minimum time between two searches of output that keeps coming."""


@frozen_dataclass
class BackgroundCommand:
    """Snapshot of a background command. `exit` is None while it runs."""

    id: str
    command: str
    cwd: Path
    running_seconds: float
    total_lines: int
    exit: TerminalExit | None
    access: CommandAccess = CONFINED


class BackgroundCommands:
    """The background commands of one session."""

    def __init__(self, session: ShellSession, outputs: SavedOutputs) -> None:
        """Prepare; a task of the session follows each command until `close`.

        Outputs that are too long for memory are kept in `outputs`.
        """
        self._session = session
        self._outputs = outputs
        self._processes: dict[str, _BackgroundProcess] = {}
        self._is_closed = False

    async def start(
        self, command: str, cwd: Path, access: CommandAccess = CONFINED
    ) -> BackgroundCommand:
        """Start a command whose stdin is a pipe that `write` feeds.

        Raises:
            ShellError: The command cannot be started, or too many are running.
        """
        self._check_capacity()
        while (command_id := f"proc_{secrets.token_hex(3)}") in self._processes:
            pass
        spill = SpillFile(self._outputs, command_id)
        process = _BackgroundProcess(command_id, command, cwd, spill, access)
        # Race: occupy the slot before the first await. Otherwise concurrent starts could together
        # exceed MAX_RUNNING, and `close` would not see this command.
        self._processes[process.id] = process
        try:
            child = process.child = await self._session.start(command, cwd, "pipe", access)
        finally:
            if process.child is None:
                # Failed or cancelled before a child existed. `close` may already be waiting for
                # this command, and no `_follow` task will ever set the event.
                del self._processes[process.id]
                process.ended.set()
        # No await before this line: from here on `_follow` ends and releases the child in any case.
        self._session.tasks.start_soon(self._follow, process, child)
        # Race: `close` may have run during the await above. A scope that is cancelled before
        # `_follow` enters it still ends the command.
        if self._is_closed:
            process.scope.cancel()
        return process.snapshot()

    def list(self) -> Sequence[BackgroundCommand]:
        """Return all commands in start order and mark their ends as reported."""
        return [process.report() for process in self._processes.values()]

    def take_newly_ended(self) -> Sequence[BackgroundCommand]:
        """Return the ended commands whose end was not reported before; each one once."""
        ended = (each for each in self._processes.values() if each.ended.is_set())
        return [process.report() for process in ended if not process.is_end_reported]

    def poll(self, command_id: str) -> tuple[BackgroundCommand, NewOutput]:
        """Return a command's state and its new output.

        Raises:
            ShellError: There is no such command. The methods below raise it for the same reason.
        """
        process = self._find(command_id)
        new_output = process.backlog.take_new(is_last=process.ended.is_set())
        return process.report(), new_output

    def log(self, command_id: str, offset: int | None = None, limit: int = 200) -> OutputExcerpt:
        """Return up to `limit` lines from line `offset` (0-based); the last ones if it is None."""
        return self._find(command_id).backlog.excerpt(offset, limit)

    def total_bytes(self, command_id: str) -> int:
        """Return how much a command has printed."""
        return self._find(command_id).backlog.total_bytes

    def spill(self, command_id: str) -> SpillFile:
        """Return the file with the whole output of a command, written if that was too long."""
        return self._find(command_id).spill

    async def write(self, command_id: str, data: bytes) -> None:
        """Write to a command's stdin.

        Raises:
            ShellError: The command has closed its stdin, or did not read it in time.
        """
        child = self._find(command_id).require_child()
        try:
            with anyio.fail_after(WRITE_TIMEOUT_SECONDS):
                await child.write(data)
        except BrokenPipeError as error:
            raise ShellError(f"{command_id} does not read its stdin any more") from error
        except TimeoutError as error:
            reason = f"{command_id} is not reading its stdin; some of it may have been written"
            raise ShellError(reason) from error

    def close_stdin(self, command_id: str) -> None:
        """Close a command's stdin, so that it reads end-of-file."""
        self._find(command_id).require_child().close_stdin()

    async def wait(self, command_id: str, timeout_seconds: float) -> BackgroundCommand:
        """Wait until a command ends or the timeout expires; return its state either way."""
        process = self._find(command_id)
        with anyio.move_on_after(timeout_seconds):
            await process.ended.wait()
        return process.report()

    async def wait_for(self, command_id: str, pattern: TextPattern, timeout_seconds: float) -> str:
        """Wait until new output has a line that matches; return it.

        Returns an empty text if the command ended or the timeout expired before.
        """
        process = self._find(command_id)
        with anyio.move_on_after(timeout_seconds):
            while True:
                # Before the search, so that output that comes meanwhile is searched too.
                printed, has_ended = process.printed, process.ended.is_set()
                line = pattern.find_line(process.backlog.new_text())
                if line or has_ended:
                    return line
                await anyio.sleep(SEARCH_INTERVAL_SECONDS)
                await printed.wait()
        return ""

    def find_earlier(self, command_id: str, pattern: TextPattern) -> str:
        """Return the first line that matches in all output that is held."""
        return pattern.find_line(self._find(command_id).backlog.all_text())

    async def kill(self, command_id: str) -> BackgroundCommand:
        """Terminate a command and its descendants; after its end, those that it left running."""
        process = self._find(command_id)
        if process.ended.is_set():
            # The shell has ended, but processes that it left in the background may still run.
            await self._session.terminate(process.require_child())
        process.scope.cancel()
        await process.ended.wait()
        return process.report()

    async def close(self) -> None:
        """Terminate all commands of the session, and all leftovers of foreground commands.

        Further calls of `start` fail.
        """
        self._is_closed = True
        for process in self._processes.values():
            process.scope.cancel()
        # A copy, because a failing `start` removes its entry during the wait. All scopes are
        # cancelled above first, so that the commands end in parallel.
        for process in tuple(self._processes.values()):
            await process.ended.wait()
        # Last, when no background command can start further processes.
        await self._session.terminate_leftovers()

    async def _follow(self, process: "_BackgroundProcess", child: Child) -> None:
        try:
            with process.scope:
                await self._session.follow(child, process.receive)
        finally:
            # Order: `mark_ended` still reads the rest of the pipe, which `release` closes or
            # discards.
            process.mark_ended(child)
            self._session.release(child)

    def _check_capacity(self) -> None:
        if self._is_closed:
            raise ShellError("the session is closed; no command can be started any more")
        # Only ended commands are dropped: a running one must stay reachable for `kill` and `close`.
        ended_ids = [process.id for process in self._processes.values() if process.ended.is_set()]
        if len(self._processes) - len(ended_ids) >= MAX_RUNNING:
            raise ShellError(
                f"{MAX_RUNNING} background commands are running, which is the limit; kill one first"
            )
        for command_id in ended_ids[: max(len(self._processes) - MAX_REMEMBERED + 1, 0)]:
            del self._processes[command_id]

    def _find(self, command_id: str) -> "_BackgroundProcess":
        process = self._processes.get(command_id)
        if process is None or process.child is None:
            known = ", ".join(self._processes) or "there are none"
            raise ShellError(f"there is no background command {command_id!r}; known: {known}")
        return process


class _BackgroundProcess:
    """One background command with its output and its end."""

    def __init__(
        self, command_id: str, command: str, cwd: Path, spill: SpillFile, access: CommandAccess
    ) -> None:
        self.id = command_id
        self.command = command
        self.cwd = cwd
        self.access = access
        self.is_end_reported = False
        self.child: Child | None = None
        self.scope = anyio.CancelScope()
        self.spill = spill
        self.backlog = RecentOutput(OUTPUT_BUFFER_BYTES, spill)
        self.ended = anyio.Event()
        self.printed = anyio.Event()
        """Set by the next output, and by the end."""
        self._started_at = anyio.current_time()
        self._exit: TerminalExit | None = None
        self._ended_at = 0.0

    def receive(self, chunk: bytes) -> None:
        self.backlog.write(chunk)
        self.printed.set()
        self.printed = anyio.Event()

    def mark_ended(self, child: Child) -> None:
        # Order: output, exit and time are complete before the event wakes the waiters.
        self.backlog.write(child.read_available())
        self._exit = child.exit
        self._ended_at = anyio.current_time()
        self.ended.set()
        self.printed.set()

    def require_child(self) -> Child:
        if self.child is None:
            raise ShellError(f"{self.id} has not been started yet")
        return self.child

    def snapshot(self) -> BackgroundCommand:
        end = self._ended_at if self.ended.is_set() else anyio.current_time()
        return BackgroundCommand(
            self.id,
            self.command,
            self.cwd,
            running_seconds=end - self._started_at,
            total_lines=self.backlog.total_lines,
            exit=self._exit,
            access=self.access,
        )

    def report(self) -> BackgroundCommand:
        """Return the state, and note that an end in it has now been reported."""
        self.is_end_reported = self.ended.is_set()
        return self.snapshot()
