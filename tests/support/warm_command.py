"""The command in a process that has imported it before: each command line is run by a fork of it.

For tests of what a command does, most of whose time would go into imports. A fork is a process as
the user's is, with descriptors, variables and an end of its own; how a process starts, what it
imports and when is not to be seen in it. This module is both sides: run as a program, it serves.
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
MODULE = "tests.support.warm_command"
HEAD_BYTES = 4
"""What stands before each request: its length. An answer is as long, and is an exit code."""
WITH_A_MODEL = (
    "acp_server.handlers.workspace",
    "acp_server.history.writer",
    "acp_server.models.anthropic.sdk",
    "acp_server.session.context",
    "acp_server.tools.kit",
)
"""What a command that does a task imports beside the commands."""


@dataclass(frozen=True, slots=True)
class CommandLine:
    """What is to be run, and in which surroundings."""

    arguments: Sequence[str]
    variables: Mapping[str, str]
    given: str
    """Its input."""

    def packed(self) -> bytes:
        """Return all but the input, for the other process."""
        return json.dumps([list(self.arguments), dict(self.variables), str(Path.cwd())]).encode()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended, and what it printed."""

    exit_code: int
    stdout: bytes
    stderr: bytes


class WarmCommand:
    """A process that runs command lines, one at a time."""

    def __init__(self, modules: Sequence[str]) -> None:
        """Start it; these modules are imported in it, beside those of the commands."""
        self._socket, its = socket.socketpair()
        with its:
            self._process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(its.fileno()), *modules],
                pass_fds=[its.fileno()],
                stdin=subprocess.DEVNULL,
                cwd=ROOT,
            )
        atexit.register(self.close)
        _exactly(self._socket, HEAD_BYTES)  # it is ready, however long that took

    def run(self, line: CommandLine, patience_seconds: float) -> Ended:
        """Run a command line to its end.

        Raises:
            TimeoutError: it did not end in time; further ones need another process.
        """
        request = line.packed()
        with ExitStack() as files:
            streams = [files.enter_context(tempfile.TemporaryFile()) for _ in range(3)]
            stdin, stdout, stderr = streams
            stdin.write(line.given.encode())
            stdin.seek(0)
            self._socket.settimeout(patience_seconds)
            head = len(request).to_bytes(HEAD_BYTES, "big")
            socket.send_fds(self._socket, [head], [stream.fileno() for stream in streams])
            self._socket.sendall(request)
            try:
                code = int.from_bytes(_exactly(self._socket, HEAD_BYTES), "big")
            except TimeoutError:  # its answer may still come, and is nobody else's
                warm_command.cache_clear()
                self.close()
                raise
            stdout.seek(0)
            stderr.seek(0)
            return Ended(code, stdout.read(), stderr.read())

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        self._process.kill()  # it may wait for a command that does not end
        self._process.wait()


@functools.cache
def warm_command(*modules: str) -> WarmCommand:
    """Return the process that has imported these modules; it is kept until the tests end."""
    return WarmCommand(modules)


def _exactly(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            raise EOFError
        received += more
    return received


def _serve(connection: socket.socket) -> None:
    """Run command lines until nobody sends any; a fork leaves by its `SystemExit`."""
    connection.sendall(bytes(HEAD_BYTES))
    while True:
        head, streams, _, _ = socket.recv_fds(connection, HEAD_BYTES, 3)
        if not head:
            return
        request = json.loads(_exactly(connection, int.from_bytes(head, "big")))
        process_id = os.fork()
        if process_id == 0:
            connection.close()
            _become(streams, *request)
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(process_id, 0)
        code = os.waitstatus_to_exitcode(status)
        connection.sendall((code if code >= 0 else 128 - code).to_bytes(HEAD_BYTES, "big"))


def _become(
    streams: Sequence[int], arguments: Sequence[str], variables: Mapping[str, str], folder: str
) -> NoReturn:
    """Be the process of a command line, to its end."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  it is there as long as we are
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
    os.environ.clear()  # noqa: TID251
    os.environ.update(variables)  # noqa: TID251
    os.chdir(folder)
    sys.argv = ["acp-server", *arguments]
    main()
    sys.exit()


def _import_all(modules: Sequence[str]) -> None:
    """Import the commands and these modules."""
    for found in pkgutil.iter_modules(cli.__path__, f"{cli.__name__}."):
        import_module(found.name)
    for name in modules:
        import_module(name)
    gc.freeze()  # what is shared stays shared


if __name__ == "__main__":
    _import_all(sys.argv[2:])
    _serve(socket.socket(fileno=int(sys.argv[1])))
