"""A command's shell as a child process: how it starts, how its output is read, how it ended.

Knows one process and its pipes; what else the command started is for `processes`.

The child is first a shell that waits for a line on its stdin, and only then becomes the shell that
runs the command. In between its process group goes on the record of who is to be ended with the
server. Should the server die before that, the child reads the end of its stdin and leaves: there
is no moment at which a command runs and nobody would end it.
"""

import errno
import math
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Literal

import anyio
from anyio import lowlevel
from anyio.abc import Process

from acp_server.frozen import frozen
from acp_server.session.editor import Exit
from acp_server.tools.shell.environment import MARK_VARIABLE
from acp_server.tools.shell.errors import ShellError
from skills_store.programs import find_program

READ_BYTES = 256 * 1024
PIPE_BYTES = 1024 * 1024
"""The most that a pipe holds. What the shell itself printed is within so much after its end."""
DRAIN_SECONDS = 0.1
"""How long after the shell's end we wait for words of those that it left running."""
DISCARD_SECONDS = 0.05

Stdin = Literal["empty", "pipe"]
Receive = Callable[[bytes], Awaitable[None]]

_WAIT_THEN_RUN = {
    "empty": 'read -r _ && exec "$@" </dev/null',
    "pipe": 'read -r _ && exec "$@"',
}
_GO = b"\n"
_TOO_MANY = "the system can start no more processes; end some and try again"


@frozen
class Launch:
    """A command for a shell, where it runs, and all of its variables."""

    command: str
    cwd: Path
    environment: Mapping[str, str]
    stdin: Stdin = "empty"
    launcher: tuple[str, ...] = ()
    """What starts the shell that runs the command, and keeps it within bounds."""


class Child:
    """A started shell. Whoever has it follows it to its end, then closes it."""

    def __init__(self, process: Process, mark: str, pipes: tuple[int, int]) -> None:
        self.group = process.pid
        self.mark = mark
        self._process = process
        self._stdin, self._output = pipes
        self._is_stdin_open = True
        self._is_output_over = False
        self._writing = anyio.Lock()
        self._waiting = anyio.CancelScope()
        self._last_wait_until = math.inf
        self._bytes_to_go = PIPE_BYTES

    @classmethod
    async def start(cls, launch: Launch) -> "Child":
        """Start a child that waits; `go` makes it run the command.

        Raises:
            ShellError: it cannot be started.
        """
        _check(launch)
        (its_stdin, stdin), (output, its_output) = _pipes()
        process = None
        try:
            process = await anyio.open_process(
                _arguments(launch),
                stdin=its_stdin,
                stdout=its_output,
                stderr=its_output,
                cwd=launch.cwd,
                env=launch.environment,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ShellError(_why_not_started(error, launch)) from error
        else:
            os.set_blocking(stdin, False)
            os.set_blocking(output, False)
            return cls(process, launch.environment[MARK_VARIABLE], (stdin, output))
        finally:
            os.close(its_stdin)
            os.close(its_output)
            if process is None:  # also when cancelled, which kills it while it waits
                os.close(stdin)
                os.close(output)

    def go(self, stdin: Stdin) -> None:
        """Let the command run."""
        with suppress(BrokenPipeError):  # it was killed already; its end will show
            os.write(self._stdin, _GO)
        if stdin == "empty":
            self.close_stdin()

    @property
    def exit(self) -> Exit:
        """How the shell ended; one that is not gone yet was killed, and the system holds it."""
        code = self._process.returncode
        if code is None:
            return Exit(signal=signal.Signals.SIGKILL.name)
        return Exit(code=code) if code >= 0 else Exit(signal=_signal_name(-code))

    async def follow(self, receive: Receive) -> None:
        """Pass on output until the shell has ended.

        What it left running may hold the pipe open for ever, so the pipe's end is not waited for.
        """
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._notice_end)
                while chunk := await self._next_chunk():
                    await receive(chunk)
        except ExceptionGroup as group:  # so a task group raises what its body raised
            failure = group.exceptions[0]
            raise failure from failure.__cause__

    async def wait(self, timeout_seconds: float) -> None:
        """Wait until the shell has ended, but not for ever: some processes cannot be killed."""
        with anyio.move_on_after(timeout_seconds, shield=True):
            await self._process.wait()

    def take_rest(self) -> bytes:
        """Return what is in the pipe right now."""
        with suppress(BlockingIOError):
            return self._read(PIPE_BYTES)
        return b""

    async def write(self, data: bytes) -> None:
        """Write to its stdin, waiting while it does not read.

        Raises:
            BrokenPipeError: nobody reads it any more.
        """
        async with self._writing:
            left = memoryview(data)
            while left:
                if not self._is_stdin_open:
                    raise BrokenPipeError
                try:
                    left = left[os.write(self._stdin, left) :]
                except BlockingIOError:
                    with suppress(anyio.ClosedResourceError):
                        await anyio.wait_writable(self._stdin)

    def close_stdin(self) -> None:
        """Let it read the end of its stdin."""
        if self._is_stdin_open:
            self._is_stdin_open = False
            anyio.notify_closing(self._stdin)
            os.close(self._stdin)

    @property
    def is_output_over(self) -> bool:
        """Whether nothing has its output pipe open any more, as far as was read."""
        return self._is_output_over

    async def discard_output(self) -> None:
        """Read what is still printed until nothing can print any more, then close."""
        try:
            while True:
                await anyio.wait_readable(self._output)
                self.take_rest()
                if self._is_output_over:
                    return
                await anyio.sleep(DISCARD_SECONDS)  # slows down what prints without end
        finally:
            self.close()

    def close(self) -> None:
        """Close our ends of its pipes. Nobody may be reading its output."""
        self.close_stdin()
        os.close(self._output)

    async def _notice_end(self) -> None:
        await self._process.wait()
        self._last_wait_until = anyio.current_time() + DRAIN_SECONDS
        self._waiting.deadline = self._last_wait_until

    async def _next_chunk(self) -> bytes:
        """Return what was printed next; nothing once that is all."""
        await lowlevel.checkpoint()  # a command that never pauses must not stop everything else
        while self._bytes_to_go > 0:
            try:
                chunk = self._read(READ_BYTES)
            except BlockingIOError:
                if not await self._is_more_coming():
                    break
            else:
                if self._last_wait_until < math.inf:
                    self._bytes_to_go -= len(chunk)
                return chunk
        return b""

    def _read(self, most_bytes: int) -> bytes:
        chunk = os.read(self._output, most_bytes)
        self._is_output_over = not chunk
        return chunk

    async def _is_more_coming(self) -> bool:
        with anyio.CancelScope(deadline=self._last_wait_until) as self._waiting:
            await anyio.wait_readable(self._output)
            return True
        return False


def _check(launch: Launch) -> None:
    if os.name != "posix":
        raise ShellError("commands cannot be run here: this system has no POSIX shell")
    if not launch.cwd.exists():
        raise ShellError(f"there is no folder {launch.cwd} to run the command in")
    if not launch.cwd.is_dir():
        raise ShellError(f"{launch.cwd} is not a folder, so no command can run in it")


def _pipes() -> tuple[tuple[int, int], tuple[int, int]]:
    try:
        first = os.pipe()
    except OSError as error:
        raise ShellError(_TOO_MANY) from error
    try:
        return first, os.pipe()
    except OSError as error:
        os.close(first[0])
        os.close(first[1])
        raise ShellError(_TOO_MANY) from error


def _arguments(launch: Launch) -> tuple[str, ...]:
    """Return what runs a command as soon as there is a line to read on stdin.

    The waiting shell is of the same kind, for others drop variables whose names they cannot use.
    `-p` keeps bash from reading BASH_ENV twice.
    """
    bash = find_program("bash", launch.environment.get("PATH"))
    shell, options = (bash, ("-p",)) if bash else ("/bin/sh", ())
    wait = _WAIT_THEN_RUN[launch.stdin]
    command = (*launch.launcher, shell, *options, "-c", launch.command)
    return (shell, *options, "-c", wait, shell, *command)


def _why_not_started(error: OSError | ValueError, launch: Launch) -> str:
    match error:
        case ValueError():
            return f"the command cannot be passed to a shell: {error}"
        case OSError() if error.errno == errno.E2BIG:
            size = len(launch.command.encode("utf-8", "replace"))
            return (
                f"the command is too long for this system ({size:,} bytes, with "
                f"{len(launch.environment)} variables); write it to a file and run that"
            )
        case OSError() if error.errno in (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE):
            return f"{_TOO_MANY} ({error.strerror})"
        case _:
            return f"the shell cannot be started in {launch.cwd}: {error}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal
        return f"SIG{number}"
