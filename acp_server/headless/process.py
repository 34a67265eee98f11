"""Agent child process: pipes, stderr, shutdown.

The child runs in its own session, so that Ctrl-C reaches only this process, which can then shut
the agent down in order: close its stdin and, if it does not exit in time, kill its process group.
"""

import os
import signal
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import PIPE
from typing import Literal, Self

import anyio
from anyio.abc import Process

from acp_server.headless.errors import AgentStartError
from acp_server.jsonrpc.stdio import Descriptors
from acp_server.startup.isolation import isolated_server

STDERR_TAIL_BYTES = 64 * 1024
STDERR_DRAIN_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class ShutdownTimeouts:
    """Time limits for an agent to read pending input and to exit."""

    flush_seconds: float = 1.0
    exit_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class AgentLaunch:
    """Command, working directory and environment of an agent process."""

    command: tuple[str, ...]
    cwd: Path | None = None
    """Working directory; None means the current one."""
    environment: Mapping[str, str] | None = None
    """Complete environment; None means that of this process."""
    stderr: Literal["inherit", "capture"] = "inherit"
    timeouts: ShutdownTimeouts = field(default_factory=ShutdownTimeouts)


@dataclass(frozen=True, slots=True)
class AgentExit:
    """Exit of an agent: code (negative for a signal) and the seconds since stdin was closed."""

    code: int
    seconds: float
    was_killed: bool


def serve_command(*options: str) -> tuple[str, ...]:
    """Return the command that starts this server, isolated from the working directory."""
    return isolated_server("serve", *options)


class AgentProcess:
    """A running agent process."""

    def __init__(
        self, process: Process, descriptors: Descriptors, timeouts: ShutdownTimeouts
    ) -> None:
        self.descriptors = descriptors
        self.timeouts = timeouts
        self._process = process
        self._stderr_tail = bytearray()
        self._stderr_closed = anyio.Event()
        self._is_stdin_open = True

    @classmethod
    @asynccontextmanager
    async def start(cls, launch: AgentLaunch) -> AsyncGenerator[Self]:
        """Start the agent; leaving the context kills it, unless it has exited.

        Raises:
            AgentStartError: The command cannot be started.
        """
        process, descriptors = await _start_process(launch)
        async with process, anyio.create_task_group() as tasks:
            child = cls(process, descriptors, launch.timeouts)
            tasks.start_soon(child._read_stderr)
            try:
                yield child
            finally:
                child.kill()
                tasks.cancel_scope.cancel()

    @property
    def pid(self) -> int:
        """The process id, which is also the process group id."""
        return self._process.pid

    @property
    def stderr_text(self) -> str:
        """The last 64 KiB of stderr, if it is captured."""
        return self._stderr_tail.decode("utf-8", "replace")

    async def shut_down(self) -> AgentExit:
        """Close stdin and wait for the exit; kill after a timeout. Do not write afterwards."""
        closed_at = time.perf_counter()
        if self._is_stdin_open:
            self._is_stdin_open = False
            os.close(self.descriptors.write)
        was_killed = False
        with anyio.move_on_after(self.timeouts.exit_seconds) as waiting:
            await self._process.wait()
        if waiting.cancelled_caught:
            was_killed = self.kill()
        code = await self._process.wait()
        seconds = time.perf_counter() - closed_at
        with anyio.move_on_after(STDERR_DRAIN_SECONDS):
            await self._stderr_closed.wait()
        return AgentExit(code, seconds, was_killed)

    def kill(self) -> bool:
        """Kill the process group; return false if the process has already exited."""
        if self._process.returncode is not None:
            return False
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return True

    def close_stdout(self, *, is_fully_read: bool) -> None:
        """Close our end of the child's stdout, unless a thread may still be reading it.

        Otherwise that thread would read from the next file that gets the descriptor's number.
        """
        if is_fully_read:
            os.close(self.descriptors.read)

    async def _read_stderr(self) -> None:
        try:
            if self._process.stderr is not None:
                async for chunk in self._process.stderr:
                    self._stderr_tail += chunk
                    del self._stderr_tail[:-STDERR_TAIL_BYTES]
        finally:
            self._stderr_closed.set()


async def _start_process(launch: AgentLaunch) -> tuple[Process, Descriptors]:
    child_stdin, stdin_writer = os.pipe()
    stdout_reader, child_stdout = os.pipe()
    try:
        process = await anyio.open_process(
            launch.command,
            stdin=child_stdin,
            stdout=child_stdout,
            stderr=PIPE if launch.stderr == "capture" else None,
            cwd=launch.cwd,
            env=launch.environment,
            start_new_session=True,
        )
    except OSError as error:
        os.close(stdin_writer)
        os.close(stdout_reader)
        raise AgentStartError(launch.command[0], str(error)) from error
    finally:
        os.close(child_stdin)
        os.close(child_stdout)
    return process, Descriptors(stdout_reader, stdin_writer)
