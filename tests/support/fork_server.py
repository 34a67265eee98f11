"""Fork server for commands and servers: a process that has imported the code forks once for each.

Saves tests the imports, which would take most of their time. A fork has its own descriptors,
environment, process id and exit, like a user's process; tests of start-up, of the order of imports,
of memory and of the interpreter's own environment need a new process instead. This module is both
sides: run as a program, it is the fork server.
"""

import atexit
import functools
import gc
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from acp_server import cli
from acp_server.__main__ import main

ROOT = Path(__file__).parents[2]
FORK_SERVER_MODULE = "tests.support.fork_server"
NUMBER_BYTES = 4
"""Size of each number: the length of a request, a process id, an exit code."""
RUN_MODULES = (
    "acp_server.server.app",
    "acp_server.handlers.permissions",
    "acp_server.handlers.user_questions",
    "acp_server.handlers.workspace",
    "acp_server.history.writer",
    "acp_server.mcp.binder",
    "acp_server.models.anthropic.entry_point",
    "acp_server.session.prompting.directory_events",
    "acp_server.session.prompting.workspace_prompt",
    "acp_server.tools.factory",
    "anyio._backends._asyncio",
    "prompt_engine.threats.scanning",
)
"""Modules that serving and `run` import in addition to the commands."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Command line with its environment and input."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    stdin: str = ""
    """Text for stdin."""

    def encode(self) -> bytes:
        """Encode everything but the input, with the working directory, for the fork server."""
        return json.dumps([list(self.arguments), dict(self.environment), str(Path.cwd())]).encode()


@dataclass(frozen=True, slots=True)
class ProcessResult:
    """Exit code and output of a process."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class ForkedProcess:
    """A process of the fork server, with what tests use of `subprocess.Popen`."""

    def __init__(self, command: Sequence[str], status: socket.socket) -> None:
        """Take the socket on which the fork's parent sends its process id, then its exit code."""
        self.args = command
        self.returncode: int | None = None
        self._status = status
        self.pid = _receive_number(status)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the process and return its exit code; negative if a signal killed it.

        Raises:
            subprocess.TimeoutExpired: it did not end in time.
        """
        if self.returncode is None:
            self._status.settimeout(timeout)
            try:
                self.returncode = _receive_number(self._status)
            except (TimeoutError, BlockingIOError):  # the latter if it does not wait at all
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from None
            self._status.close()
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process is known to have ended."""
        if self.returncode is None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """Starts processes of the command."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Start the fork server, which imports the commands and these modules."""
        self._socket, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-m", FORK_SERVER_MODULE, str(its.fileno()), *modules],
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
            )
        atexit.register(self.close)
        # wait until the imports are done, so that they count against no timeout
        _receive_number(self._socket)

    def start(self, line: CommandLine, streams: Sequence[int]) -> ForkedProcess:
        """Start a command line on three descriptors, which the caller keeps."""
        status, its = socket.socketpair()
        request = line.encode()
        with its:
            head = len(request).to_bytes(NUMBER_BYTES, "big")
            socket.send_fds(self._socket, [head], [*streams, its.fileno()])
        self._socket.sendall(request)
        return ForkedProcess(line.arguments, status)

    def run(self, line: CommandLine, timeout_seconds: float) -> ProcessResult:
        """Run a command line to its end.

        Raises:
            subprocess.TimeoutExpired: it did not end in time, and was killed.
        """
        with ExitStack() as files:
            stdin, stdout, stderr = (
                files.enter_context(tempfile.TemporaryFile()) for _ in range(3)
            )
            stdin.write(line.stdin.encode())
            stdin.seek(0)
            process = self.start(line, [stdin.fileno(), stdout.fileno(), stderr.fileno()])
            try:
                code = process.wait(timeout_seconds)
            finally:
                process.kill()
            stdout.seek(0)
            stderr.seek(0)
            # as a shell gives the exit code of a process that a signal killed
            return ProcessResult(code if code >= 0 else 128 - code, stdout.read(), stderr.read())

    def close(self) -> None:
        """End the fork server; what it started goes on."""
        self._socket.close()
        self._process.kill()
        self._process.wait()


@functools.cache
def get_fork_server(*modules: str) -> ForkServer:
    """Return the fork server with these modules imported; it is reused until the tests end."""
    return ForkServer(modules)


def _receive_exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            raise EOFError
        received += more
    return received


def _receive_number(connection: socket.socket) -> int:
    return int.from_bytes(_receive_exactly(connection, NUMBER_BYTES), "big", signed=True)


def _serve(connection: socket.socket) -> None:
    """Start command lines until the client hangs up."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # parents of forks are reaped by the system
    connection.sendall(bytes(NUMBER_BYTES))
    while True:
        head, descriptors, _, _ = socket.recv_fds(connection, NUMBER_BYTES, 4)
        if not head:
            return
        request = json.loads(_receive_exactly(connection, int.from_bytes(head, "big")))
        if os.fork() == 0:
            connection.close()
            *streams, status = descriptors
            _start(streams, socket.socket(fileno=status), *request)
        for descriptor in descriptors:
            os.close(descriptor)


def _start(
    streams: Sequence[int],
    status: socket.socket,
    arguments: Sequence[str],
    environment: Mapping[str, str],
    directory: str,
) -> NoReturn:
    """Fork the process of a command line, as its parent; send its id, then its exit code."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    process_id = os.fork()
    if process_id == 0:
        status.close()
        _run_command(streams, arguments, environment, directory)
    for stream in streams:
        os.close(stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: for the command, not for us
    status.sendall(process_id.to_bytes(NUMBER_BYTES, "big"))
    _, wait_status = os.waitpid(process_id, 0)
    with suppress(BrokenPipeError):  # nobody waits for it
        code = os.waitstatus_to_exitcode(wait_status)
        status.sendall(code.to_bytes(NUMBER_BYTES, "big", signed=True))
    os._exit(0)


def _run_command(
    streams: Sequence[int], arguments: Sequence[str], environment: Mapping[str, str], directory: str
) -> NoReturn:
    """Turn this fork into the process of a command line, run it and exit."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  it is there as long as we are
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()  # noqa: TID251
    os.environ.update(environment)  # noqa: TID251
    os.chdir(directory)
    sys.argv = ["acp-server", *arguments]
    main()
    sys.exit()


def _import_all(modules: Sequence[str]) -> None:
    """Import the commands and these modules."""
    for found in pkgutil.iter_modules(cli.__path__, f"{cli.__name__}."):
        import_module(found.name)
    for name in modules:
        import_module(name)
    gc.freeze()  # a collection in a fork would touch, and so copy, the shared pages


if __name__ == "__main__":
    _import_all(sys.argv[2:])
    _serve(socket.socket(fileno=int(sys.argv[1])))
