"""Fork server for the CLI: a process that has imported the command forks once per command line.

Saves tests of commands the imports, which would take most of their time. A fork has its own
descriptors, environment and exit, like a user's process; tests of start-up and of import order
need a new process instead. This module is both sides: run as a program, it is the server.
"""

import atexit
import functools
import gc
import json
import os
import pkgutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NoReturn

from acp_server import cli
from acp_server.__main__ import main

ROOT = Path(__file__).parents[2]
FORK_SERVER_MODULE = "tests.support.fork_server"
HEAD_BYTES = 4
"""Size of the length prefix of a request, and of a response, which is an exit code."""
RUN_MODULES = (
    "acp_server.handlers.workspace",
    "acp_server.history.writer",
    "acp_server.models.anthropic.entry_point",
    "acp_server.session.prompting.workspace_prompt",
    "acp_server.tools.factory",
)
"""Modules that `run` imports in addition to the commands."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """Command line with its environment and input."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    stdin: str
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


class ForkServer:
    """Fork server, which runs one command line at a time."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Start the process, which imports the commands and these modules."""
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
        _receive_exactly(self._socket, HEAD_BYTES)

    def run(self, line: CommandLine, timeout_seconds: float) -> ProcessResult:
        """Run a command line to its end.

        Raises:
            TimeoutError: It did not end in time. The server was killed; get a new one.
        """
        request = line.encode()
        with ExitStack() as files:
            streams = [files.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            stdin, stdout, stderr = streams
            stdin.write(line.stdin.encode())
            stdin.seek(0)
            self._socket.settimeout(timeout_seconds)
            head = len(request).to_bytes(HEAD_BYTES, "big")
            socket.send_fds(self._socket, [head], [stream.fileno() for stream in streams])
            self._socket.sendall(request)
            try:
                code = int.from_bytes(_receive_exactly(self._socket, HEAD_BYTES), "big")
            except TimeoutError:  # a late answer would be taken for that of the next command
                get_fork_server.cache_clear()
                self.close()
                raise
            stdout.seek(0)
            stderr.seek(0)
            return ProcessResult(code, stdout.read(), stderr.read())

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.kill()  # not a clean shutdown: it may be waiting for a command that hangs
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


def _serve(connection: socket.socket) -> None:
    """Run command lines until the client hangs up; a fork exits by `SystemExit`."""
    connection.sendall(bytes(HEAD_BYTES))
    while True:
        head, streams, _, _ = socket.recv_fds(connection, HEAD_BYTES, 3)
        if not head:
            return
        request = json.loads(_receive_exactly(connection, int.from_bytes(head, "big")))
        process_id = os.fork()
        if process_id == 0:
            connection.close()
            _run_command(streams, *request)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(process_id, 0)
        code = os.waitstatus_to_exitcode(status)
        connection.sendall((code if code >= 0 else 128 - code).to_bytes(HEAD_BYTES, "big"))


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
