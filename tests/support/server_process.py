"""The real server in a separate process, connected by pipes, sockets, a terminal or descriptors.

    with start_server(tmp_path, "prompt: *\\nsay: Hello!") as server:
        server.call("initialize", {"protocolVersion": 1})
        server.close_stdin()
        assert server.wait() == 0
        assert server.stderr() == ""

Reads and writes are synchronous, and every wait has a timeout. Messages from the server are checked
by `check_message` and collected, in order, in `messages`.
"""

import fcntl
import json
import os
import pty
import select
import socket
import subprocess
import sys
import termios
import time
import tty
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from pydantic import JsonValue

from tests.support.editor import (
    Object,
    check_message,
    is_update,
    json_at,
    prompt_params,
    take_checkpoint,
)
from tests.support.fork_server import CommandLine, ForkedProcess, get_fork_server
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

READ_BYTES = 256 * 1024
SERVER = (sys.executable, "-m", "acp_server")
HELLO_SCRIPT = "prompt: *\nsay: Hello!"
NO_KEYRING = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
"""Variables that keep a child process away from the user's keyring."""


@dataclass(frozen=True, slots=True)
class ConnectionEnds:
    """Descriptors of a connection: two for the server, two for the test."""

    server_reads: int
    server_writes: int
    write: int
    read: int


def open_pipes() -> ConnectionEnds:
    """Return a connection over two pipes, as editors make it."""
    server_reads, write = os.pipe()
    read, server_writes = os.pipe()
    return ConnectionEnds(server_reads, server_writes, write, read)


def open_nonblocking_pipes() -> ConnectionEnds:
    """Return two pipes whose server ends are non-blocking, as Node may leave them."""
    ends = open_pipes()
    for descriptor in (ends.server_reads, ends.server_writes):
        flags = fcntl.fcntl(descriptor, fcntl.F_GETFL)
        fcntl.fcntl(descriptor, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    return ends


def open_sockets() -> ConnectionEnds:
    """Return a connection over a socket pair, which is bidirectional."""
    server, test = socket.socketpair()
    server_fd, test_fd = server.detach(), test.detach()
    return ConnectionEnds(server_fd, os.dup(server_fd), test_fd, os.dup(test_fd))


def open_terminal() -> ConnectionEnds:
    """Return a connection over a terminal in raw mode: no echo, no special bytes."""
    test, server = pty.openpty()
    tty.setraw(server)
    return ConnectionEnds(server, os.dup(server), test, os.dup(test))


def command_line(home: Path, script: str = HELLO_SCRIPT, options: Sequence[str] = ()) -> list[str]:
    """Return the command that serves a scripted model, and write the script into `home`."""
    (home / "test.script").write_text(script, encoding="utf-8")
    return [sys.executable, "-m", "acp_server", "serve", "--model", model_id(home), *options]


def forked(command: Sequence[str]) -> list[str]:
    """Return a command with which another program starts the same server, as a fork."""
    if tuple(command[:3]) != SERVER or sys.platform != "linux":
        return [*command]
    program = Path(__file__).with_name("forked_command.py")
    address = str(get_fork_server().address)
    return [sys.executable, "-I", "-S", str(program), address, *command[3:]]


def model_id(home: Path) -> str:
    """Return the id of the model that `command_line` serves."""
    return f"scripted:{home / 'test.script'}"


def environment(home: Path) -> dict[str, str]:
    """Return the complete environment of a server whose home is a test directory."""
    return {"HERMES_HOME": str(home), "HOME": str(home), "PATH": os.defpath, **NO_KEYRING}


@contextmanager
def start_server(
    home: Path,
    script: str = HELLO_SCRIPT,
    *,
    connection: ConnectionEnds | None = None,
    command: Sequence[str] | None = None,
    variables: Mapping[str, str] | None = None,
    new_interpreter: bool = False,
) -> Generator["ServerProcess"]:
    """Start a server, with more variables; when the context exits, kill it if it still runs.

    It is forked from a process that has imported the code, which saves most of a test's time.
    Tests of start-up, of imports and of memory ask for a new interpreter instead.
    """
    connection = connection or open_pipes()
    command = command or command_line(home, script)
    variables = environment(home) | dict(variables or {})
    streams = connection.server_reads, connection.server_writes
    with (home / "stderr.txt").open("wb") as stderr:
        if new_interpreter or tuple(command[:3]) != SERVER or sys.platform != "linux":
            stdin, stdout = streams
            process = subprocess.Popen(
                command, stdin=stdin, stdout=stdout, stderr=stderr, env=variables
            )
        else:
            line = CommandLine(command[3:], variables)
            process = get_fork_server().start(line, (*streams, stderr.fileno()))
    # the server must hold the only copies, or neither side would ever see the end of a stream
    os.close(connection.server_reads)
    os.close(connection.server_writes)
    server = ServerProcess(process, connection, home / "stderr.txt")
    try:
        yield server
    finally:
        process.kill()
        process.wait()
        server.close_stdin()
        server.close_stdout()


class ServerProcess:
    """Client of a running server process."""

    def __init__(
        self,
        process: subprocess.Popen[bytes] | ForkedProcess,
        connection: ConnectionEnds,
        stderr: Path,
    ) -> None:
        self.process = process
        self.messages: list[Object] = []
        """All messages received, in order."""
        self.checkpoints: list[str] = []
        """The checkpoints of user messages and of responses to prompts, in order."""
        self._write: int | None = connection.write
        self._read: int | None = connection.read
        self._stderr = stderr
        self._buffer = bytearray()
        self._next_id = 1

    def initialize(self) -> None:
        """Send `initialize`."""
        assert "result" in self.call("initialize", {"protocolVersion": 1})

    def new_session(self, cwd: str = "/") -> str:
        """Open a session and return its id."""
        result = self.call("session/new", {"cwd": cwd, "mcpServers": []})["result"]
        assert isinstance(result, dict)
        return str(result["sessionId"])

    def agent_text(self) -> str:
        """Return the text of all agent messages received so far."""
        updates = [json_at(each, "params", "update") for each in self.messages if is_update(each)]
        chunks = [u for u in updates if json_at(u, "sessionUpdate") == "agent_message_chunk"]
        return "".join(str(json_at(each, "content", "text")) for each in chunks)

    def prompt(self, session_id: str, text: str = "hi") -> Object:
        """Send a prompt and return the complete response."""
        return self.call("session/prompt", prompt_params(session_id, text))

    def start_prompt(self, session_id: str, text: str = "hi") -> int:
        """Send a prompt and return the request id without waiting."""
        return self.start_request("session/prompt", prompt_params(session_id, text))

    def call(self, method: str, params: JsonValue = None) -> Object:
        """Send a request and return the complete response; earlier messages go to `messages`."""
        return self.receive_response(self.start_request(method, params))

    def start_request(self, method: str, params: JsonValue = None) -> int:
        """Send a request and return its id without waiting."""
        number = self._next_id
        self._next_id += 1
        self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        return number

    def send(self, message: JsonValue) -> None:
        """Send any JSON value as one line."""
        self.send_bytes(json.dumps(message).encode() + b"\n")

    def send_bytes(self, data: bytes) -> None:
        """Send raw bytes."""
        assert self._write is not None
        view = memoryview(data)
        while view:
            view = view[os.write(self._write, view) :]

    def receive_response(self, request_id: JsonValue) -> Object:
        """Receive messages up to the response with this id, and return it."""
        while True:
            message = self.receive()
            if "method" not in message and message["id"] == request_id:
                return message

    def receive_update(self) -> Object:
        """Receive messages up to the next `session/update`, and return it."""
        while True:
            message = self.receive()
            if message.get("method") == "session/update":
                return message

    def receive(self) -> Object:
        """Receive, check and return the next message."""
        line = self.read_line()
        assert line, f"the server ended its stream; stderr: {self.stderr()}"
        message = check_message(line)
        self._store(message)
        return message

    def read_line(self, timeout_seconds: float = HANG_TIMEOUT_SECONDS) -> bytes:
        """Return the next line with its newline, or the remaining bytes at the stream's end."""
        deadline = time.monotonic() + timeout_seconds
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            chunk = self.read_some(READ_BYTES, deadline - time.monotonic())
            if not chunk:
                end = len(self._buffer)
                break
            self._buffer += chunk
        line = bytes(self._buffer[: end + 1])
        del self._buffer[: end + 1]
        return line

    def read_some(self, limit_bytes: int, timeout_seconds: float = HANG_TIMEOUT_SECONDS) -> bytes:
        """Return the bytes of one read of the server's stdout; empty at its end."""
        assert self._read is not None
        ready, _, _ = select.select([self._read], [], [], max(timeout_seconds, 0))
        assert ready, f"the server said nothing for too long; stderr: {self.stderr()}"
        try:
            return os.read(self._read, limit_bytes)
        except OSError:  # EIO: the server has closed its side of the terminal
            return b""

    def has_output(self, timeout_seconds: float = 0) -> bool:
        """Return whether output can be read, by default right now."""
        assert self._read is not None
        has_line = b"\n" in self._buffer
        return has_line or bool(select.select([self._read], [], [], timeout_seconds)[0])

    def receive_until_end(self) -> list[Object]:
        """Receive up to the end of the stream and return these messages."""
        seen = len(self.messages)
        while line := self.read_line():
            self._store(check_message(line))
        return self.messages[seen:]

    def _store(self, message: Object) -> None:
        checkpoint = take_checkpoint(message)
        if checkpoint is not None:
            self.checkpoints.append(checkpoint)
        self.messages.append(message)

    def close_stdin(self) -> None:
        """Close the server's stdin, as an editor does to stop the server."""
        if self._write is not None:
            os.close(self._write)
            self._write = None

    def close_stdout(self) -> None:
        """Close the test's end of the server's stdout."""
        if self._read is not None:
            os.close(self._read)
            self._read = None

    def wait(self, timeout_seconds: float = HANG_TIMEOUT_SECONDS) -> int | None:
        """Wait for the server and return its exit code, or None if it still runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.process.wait(timeout_seconds)
        return None

    def wait_until_input_read(self) -> None:
        """Wait until the server has read everything that was sent."""
        assert self._write is not None
        deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
        while _pipe_bytes(self._write):
            assert time.monotonic() < deadline, "the server does not read"
            time.sleep(0.005)

    def wait_until_write_blocked(self) -> None:
        """Wait until the server has filled the pipe and cannot write more."""
        assert self._read is not None
        deadline = time.monotonic() + HANG_TIMEOUT_SECONDS
        before, now = -1, 0
        while not now or before != now:
            assert time.monotonic() < deadline, "the server does not stop writing"
            time.sleep(0.1)
            before, now = now, _pipe_bytes(self._read)

    def memory_bytes(self) -> int:
        """Return the current resident memory of the server."""
        return psutil.Process(self.process.pid).memory_info().rss

    def cpu_seconds(self) -> float:
        """Return the processor time that the server has used, without its children."""
        times = psutil.Process(self.process.pid).cpu_times()
        return times.user + times.system

    def stderr(self) -> str:
        """Return the server's stderr so far."""
        return self._stderr.read_text(encoding="utf-8", errors="replace")


def _pipe_bytes(descriptor: int) -> int:
    """Return the number of unread bytes in a pipe, given either end."""
    count = fcntl.ioctl(descriptor, termios.FIONREAD, b"\0" * 4)
    return int.from_bytes(count, sys.byteorder)
