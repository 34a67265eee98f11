"""An agent as a child process: its pipes, its last words, its end.

It gets a session of its own, so that Ctrl-C reaches this process alone and the agent is left in
order: its stdin is closed, and only if that is not enough its whole process group is killed.
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

LAST_WORDS_BYTES = 64 * 1024
LAST_WORDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long an agent may take to read what was sent, and to leave."""

    flush_seconds: float = 1.0
    leave_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class Launch:
    """How to start an agent."""

    command: tuple[str, ...]
    folder: Path | None = None
    """Where it runs; None is here."""
    environment: Mapping[str, str] | None = None
    """All of its variables; None is ours."""
    stderr: Literal["inherit", "capture"] = "inherit"
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class Exit:
    """How an agent left: its exit code (minus the signal), and the time since its stdin closed."""

    code: int
    seconds: float
    was_killed: bool


def serve_command(*options: str) -> tuple[str, ...]:
    """Return the command that starts our own server, isolated from the working directory."""
    return isolated_server("serve", *options)


class ChildProcess:
    """A started agent."""

    def __init__(self, process: Process, descriptors: Descriptors, patience: Patience) -> None:
        self.descriptors = descriptors
        self.patience = patience
        self._process = process
        self._last_words = bytearray()
        self._all_said = anyio.Event()
        self._is_input_open = True

    @classmethod
    @asynccontextmanager
    async def start(cls, launch: Launch) -> AsyncGenerator[Self]:
        """Start the agent; leaving kills it, unless it has left.

        Raises:
            AgentStartError: the command cannot be started.
        """
        process, descriptors = await _open(launch)
        async with process, anyio.create_task_group() as tasks:
            child = cls(process, descriptors, launch.patience)
            tasks.start_soon(child._listen)
            try:
                yield child
            finally:
                child.kill()
                tasks.cancel_scope.cancel()

    @property
    def pid(self) -> int:
        """The process, which leads its own group."""
        return self._process.pid

    @property
    def stderr_text(self) -> str:
        """The end of what it has written to stderr, if that is captured."""
        return self._last_words.decode("utf-8", "replace")

    async def leave(self) -> Exit:
        """Close its stdin and wait for its end. The caller writes nothing any more."""
        closed = time.perf_counter()
        self._close_input()
        was_killed = False
        with anyio.move_on_after(self.patience.leave_seconds) as waiting:
            await self._process.wait()
        if waiting.cancelled_caught:
            was_killed = self.kill()
        code = await self._process.wait()
        seconds = time.perf_counter() - closed
        with anyio.move_on_after(LAST_WORDS_SECONDS):
            await self._all_said.wait()
        return Exit(code, seconds, was_killed)

    def kill(self) -> bool:
        """Kill its process group; false when it has left already."""
        if self._process.returncode is not None:
            return False
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        return True

    def release(self, *, is_read_to_its_end: bool) -> None:
        """Close our end of its stdout; not, while the thread that reads it may still do so.

        That thread would go on with whatever gets the descriptor's number next.
        """
        if is_read_to_its_end:
            os.close(self.descriptors.read)

    def _close_input(self) -> None:
        if self._is_input_open:
            self._is_input_open = False
            os.close(self.descriptors.write)

    async def _listen(self) -> None:
        try:
            if self._process.stderr is not None:
                async for chunk in self._process.stderr:
                    self._last_words += chunk
                    del self._last_words[:-LAST_WORDS_BYTES]
        finally:
            self._all_said.set()


async def _open(launch: Launch) -> tuple[Process, Descriptors]:
    its_input, our_output = os.pipe()
    our_input, its_output = os.pipe()
    try:
        process = await anyio.open_process(
            launch.command,
            stdin=its_input,
            stdout=its_output,
            stderr=PIPE if launch.stderr == "capture" else None,
            cwd=launch.folder,
            env=launch.environment,
            start_new_session=True,
        )
    except OSError as error:
        os.close(our_output)
        os.close(our_input)
        raise AgentStartError(launch.command[0], str(error)) from error
    finally:
        os.close(its_input)
        os.close(its_output)
    return process, Descriptors(our_input, our_output)
