"""A command's shell as a child process: start, reading of its output, end.

Handles one process and its pipes; `process_groups` handles the descendants of a command.

The child starts as a shell that waits for a line on stdin, and only then becomes the shell that
runs the command. In between, the watcher registers its process group, so that it is terminated if
the server dies. If the server dies earlier, the waiting child reads end-of-file and exits. So a
command never runs without being registered for termination.
"""

import errno
import math
import os
import signal
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Literal

import anyio
from anyio import lowlevel
from anyio.abc import Process

from acp_server.permissions.file_kinds import is_permitted
from acp_server.session.ports.editor import TerminalExit
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.value_redaction import HiddenValues, StreamRedactor
from acp_server.tools.shell.environment import MARK_VARIABLE
from acp_server.tools.shell.errors import ShellError
from skills_store.programs import find_program

READ_BYTES = 256 * 1024
MAX_PIPE_BYTES = 1024 * 1024
"""Upper bound of a pipe's capacity: after the shell's end, its own output is within this many
bytes."""
DRAIN_SECONDS = 0.1
"""How long output of left-over processes is still read after the shell has ended."""
DISCARD_SECONDS = 0.05

Stdin = Literal["empty", "pipe"]
OutputCallback = Callable[[bytes], object]
"""Takes a chunk of output; must not block."""

# `exec` keeps the process id, so the process group that was registered is the one that runs. `read`
# consumes exactly the start line, byte by byte: input for the command stays in the pipe.
_WAIT_THEN_RUN = {
    "empty": 'read -r _ && exec "$@" </dev/null',
    "pipe": 'read -r _ && exec "$@"',
}
_START_LINE = b"\n"
_PROCESS_LIMIT_REACHED = "the system can start no more processes; end some and try again"


@frozen_dataclass
class ShellLaunch:
    """A shell command with its working directory and its complete environment."""

    command: str
    cwd: Path
    environment: Mapping[str, str]
    stdin: Stdin = "empty"
    launcher: tuple[str, ...] = ()
    """Arguments in front of the shell that confine it; empty if it is not confined."""
    program_free_roots: tuple[Path, ...] = ()
    """The directories of the workspace: the shell is not taken from there."""
    hidden_values: HiddenValues = field(default_factory=HiddenValues)
    """Values that are replaced in its output."""


class Child:
    """A started shell. The owner must follow it to its end and then close it."""

    def __init__(
        self, process: Process, mark: str, pipes: tuple[int, int], hidden_values: HiddenValues
    ) -> None:
        self.group = process.pid
        self.mark = mark
        self._process = process
        self._stdin, self._output = pipes
        self._is_stdin_open = True
        self._is_output_closed = False
        # Here, so that no reader of the output can pass a value on.
        self._redactor = StreamRedactor(hidden_values)
        self._write_lock = anyio.Lock()
        self._read_scope = anyio.CancelScope()
        self._drain_deadline = math.inf
        self._drain_bytes_left = MAX_PIPE_BYTES

    @classmethod
    async def start(cls, launch: ShellLaunch) -> "Child":
        """Start a child that waits; `run` makes it run the command.

        Raises:
            ShellError: The child cannot be started.
        """
        if os.name != "posix":
            raise ShellError("commands cannot be run here: this system has no POSIX shell")
        _check_directory(launch.cwd)
        (child_stdin, stdin), (output, child_output) = _open_pipes()
        process = None
        try:
            process = await anyio.open_process(
                _build_argv(launch),
                stdin=child_stdin,
                stdout=child_output,
                stderr=child_output,
                cwd=launch.cwd,
                env=launch.environment,
                # A new session makes the child the leader of its own process group, which is the
                # unit that `process_groups` signals, and detaches it from our terminal.
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ShellError(_start_failure_reason(error, launch)) from error
        else:
            # Only our ends: O_NONBLOCK is set per open file, so the child's ends stay blocking.
            os.set_blocking(stdin, False)
            os.set_blocking(output, False)
            mark = launch.environment[MARK_VARIABLE]
            return cls(process, mark, (stdin, output), launch.hidden_values)
        finally:
            # Our copies of the child's ends must go, or we would never read end-of-file.
            os.close(child_stdin)
            os.close(child_output)
            # Also on cancellation: open_process kills the child, which is still waiting.
            if process is None:
                os.close(stdin)
                os.close(output)

    def run(self, stdin: Stdin) -> None:
        """Let the waiting shell run the command."""
        with suppress(BrokenPipeError):  # killed already; `follow` reports its end
            os.write(self._stdin, _START_LINE)
        if stdin == "empty":
            self.close_stdin()

    @property
    def exit(self) -> TerminalExit:
        """How the shell ended; SIGKILL if it was killed but the kernel still holds it."""
        code = self._process.returncode
        if code is None:
            return TerminalExit(signal=signal.Signals.SIGKILL.name)
        if code >= 0:
            return TerminalExit(code=code)
        try:
            return TerminalExit(signal=signal.Signals(-code).name)
        except ValueError:  # a real-time signal
            return TerminalExit(signal=f"SIG{-code}")

    async def follow(self, receive: OutputCallback) -> None:
        """Pass output to `receive` until the shell has ended.

        End-of-file of the pipe is not awaited: processes left in the background may keep it open
        forever.
        """
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._watch_exit)
                while chunk := await self._next_chunk():
                    if shown := self._redactor.write(chunk):
                        receive(shown)
        # Unwrap: the body's own error reaches the caller, not the task group's ExceptionGroup.
        except ExceptionGroup as group:
            failure = group.exceptions[0]
            raise failure from failure.__cause__
        if rest := self._redactor.finish():
            receive(rest)

    async def wait(self, timeout_seconds: float) -> None:
        """Wait for the shell's end, up to the timeout: some processes cannot be killed."""
        with anyio.move_on_after(timeout_seconds, shield=True):
            await self._process.wait()

    def read_available(self) -> bytes:
        """Return the output that was not passed on yet, without waiting."""
        chunk = b""
        with suppress(BlockingIOError):
            chunk = self._read(MAX_PIPE_BYTES)
        return self._redactor.write(chunk) + self._redactor.finish()

    async def write(self, data: bytes) -> None:
        """Write to the shell's stdin; wait while the pipe is full.

        Raises:
            BrokenPipeError: No process reads it any more, or it was closed.
        """
        async with self._write_lock:
            remaining = memoryview(data)
            while remaining:
                # Checked in every round: `close_stdin` may have run while this task waited for the
                # pipe.
                if not self._is_stdin_open:
                    raise BrokenPipeError
                try:
                    remaining = remaining[os.write(self._stdin, remaining) :]
                except BlockingIOError:
                    with suppress(anyio.ClosedResourceError):
                        await anyio.wait_writable(self._stdin)

    def close_stdin(self) -> None:
        """Close the shell's stdin, so that it reads end-of-file."""
        if self._is_stdin_open:
            # Order: notify before closing. A writer that waits for this descriptor wakes up and
            # sees the flag; after the close, its number could belong to another file.
            self._is_stdin_open = False
            anyio.notify_closing(self._stdin)
            os.close(self._stdin)

    @property
    def is_output_closed(self) -> bool:
        """Whether end-of-file was read: no process holds the output pipe open."""
        return self._is_output_closed

    async def discard_output(self) -> None:
        """Read and drop output until no process can write to the pipe, then close it."""
        try:
            while True:
                await anyio.wait_readable(self._output)
                self.read_available()
                if self._is_output_closed:
                    return
                await anyio.sleep(DISCARD_SECONDS)  # throttle a process that prints without end
        finally:
            self.close()

    def close(self) -> None:
        """Close our ends of the pipes. No other task may be reading the output."""
        self.close_stdin()
        os.close(self._output)

    async def _watch_exit(self) -> None:
        await self._process.wait()
        # Race: the reader may be waiting or not. The current scope gets the deadline here; a later
        # wait takes it from `_drain_deadline`.
        self._drain_deadline = anyio.current_time() + DRAIN_SECONDS
        self._read_scope.deadline = self._drain_deadline

    async def _next_chunk(self) -> bytes:
        """Return the next chunk of output; empty after the shell's end once all was read."""
        # Reads below succeed at once while a command prints continuously. Without this checkpoint
        # such a command would starve the event loop and could not be cancelled.
        await lowlevel.checkpoint()
        while self._drain_bytes_left > 0:
            try:
                chunk = self._read(READ_BYTES)
            except BlockingIOError:
                with anyio.CancelScope(deadline=self._drain_deadline) as self._read_scope:
                    await anyio.wait_readable(self._output)
                if self._read_scope.cancelled_caught:
                    break
            else:
                # After the shell's end at most one full pipe is read, so that a left-over process
                # that prints continuously cannot keep `follow` going.
                if self._drain_deadline < math.inf:
                    self._drain_bytes_left -= len(chunk)
                return chunk
        return b""

    def _read(self, max_bytes: int) -> bytes:
        chunk = os.read(self._output, max_bytes)
        # An empty read is end-of-file: every write end is closed.
        self._is_output_closed = not chunk
        return chunk


def _open_pipes() -> tuple[tuple[int, int], tuple[int, int]]:
    try:
        first = os.pipe()
    except OSError as error:
        raise ShellError(_PROCESS_LIMIT_REACHED) from error
    try:
        return first, os.pipe()
    except OSError as error:
        os.close(first[0])
        os.close(first[1])
        raise ShellError(_PROCESS_LIMIT_REACHED) from error


def _build_argv(launch: ShellLaunch) -> tuple[str, ...]:
    """Return the argv of a shell that waits for a line on stdin and then runs the command.

    The waiting shell is the same program as the final one, because other shells drop environment
    variables whose names are no identifiers. `-p` prevents bash from reading BASH_ENV twice.
    """
    # Security: a workspace cannot supply its own bash, neither by a relative PATH entry nor by an
    # absolute one.
    bash = find_program("bash", launch.environment.get("PATH"), outside=launch.program_free_roots)
    shell, options = (bash, ("-p",)) if bash else ("/bin/sh", ())
    wait_script = _WAIT_THEN_RUN[launch.stdin]
    command = (*launch.launcher, shell, *options, "-c", launch.command)
    return (shell, *options, "-c", wait_script, shell, *command)


def _check_directory(path: Path) -> None:
    """Check that a command can run in a directory.

    Raises:
        ShellError: It cannot.
    """
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise ShellError(f"there is no folder {path} to run the command in") from None
    except OSError as error:
        raise ShellError(f"{path} cannot be used: {error.strerror}; choose another") from None
    if not stat.S_ISDIR(mode):
        raise ShellError(f"{path} is not a folder, so no command can run in it")
    if not is_permitted(path, os.X_OK):
        raise ShellError(f"{path} cannot be entered: its mode does not let you; choose another")


def _start_failure_reason(error: OSError | ValueError, launch: ShellLaunch) -> str:
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
            return f"{_PROCESS_LIMIT_REACHED} ({error.strerror})"
        case _:
            return f"the shell cannot be started in {launch.cwd}: {error}"
