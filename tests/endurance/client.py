"""ACP client for a server process, with many concurrent requests.

Validates every message on arrival and matches every response to an open request: an unexpected or
duplicate response fails immediately. An answer may take as long as the machine needs; a server that
is stuck is found by what it does (`progress`).
"""

import json
import sys
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import anyio
from anyio.abc import Process
from pydantic import JsonValue

from tests.endurance.progress import ProgressWatch
from tests.support.editor import Object, check_message, prompt_params

MessageListener = Callable[[Object], None]


@asynccontextmanager
async def run_server(
    environment: Mapping[str, str], options: list[str], log: Path
) -> AsyncGenerator["SoakClient"]:
    """Run a server and receive its messages; shut it down when the context exits."""
    command = [sys.executable, "-m", "acp_server", "serve", *options]
    with log.open("wb") as stderr:
        process = await anyio.open_process(command, stderr=stderr, env=environment)
    client = SoakClient(process)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.receive_messages)
            watch = ProgressWatch(process.pid, client.find_open, lambda: client.received)
            tasks.start_soon(watch.run)
            yield client
            await client.shut_down()
            tasks.cancel_scope.cancel()
    finally:
        if process.returncode is None:
            process.kill()
        # closes the pipes also when the test is cancelled
        with anyio.CancelScope(shield=True):
            await process.aclose()


@dataclass(slots=True)
class _OpenRequest:
    """A request, and its response once there is one."""

    text: str
    response: Object = field(default_factory=dict[str, JsonValue])
    is_answered: anyio.Event = field(default_factory=anyio.Event)


class SoakClient:
    """Client side of the connection."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._open: dict[int, _OpenRequest] = {}
        self._listeners: dict[str, MessageListener] = {}
        self._next_id = 1
        self._is_shutting_down = False
        self._has_exited = anyio.Event()
        self.answered = 0
        """Number of requests answered, each exactly once."""
        self.received = 0
        """Number of messages received."""

    @property
    def process_id(self) -> int:
        """Process id of the server."""
        return self._process.pid

    @property
    def unanswered(self) -> int:
        """Number of open requests."""
        return len(self._open)

    def find_open(self) -> list[str]:
        """Describe what the server has not answered yet, the oldest first."""
        requests = [f"{number}: {each.text}" for number, each in self._open.items()]
        return [*requests, *(["the end of its input"] if self._is_shutting_down else [])]

    def add_listener(self, session_id: str, listener: MessageListener) -> None:
        """Pass all notifications and requests of a session to a listener."""
        self._listeners[session_id] = listener

    def remove_listener(self, session_id: str) -> None:
        """Remove the listener of a session."""
        self._listeners.pop(session_id, None)

    async def request_result(self, method: str, params: JsonValue) -> JsonValue:
        """Send a request and return its result.

        Raises:
            AssertionError: the response is an error.
        """
        response = await self.request(method, params)
        assert "result" in response, f"{method}: {response}"
        return response["result"]

    async def request(self, method: str, params: JsonValue) -> Object:
        """Send a request and return the whole response."""
        number = self._next_id
        self._next_id += 1
        request = self._open[number] = _OpenRequest(f"{method} {params}")
        await self.send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        await request.is_answered.wait()
        return request.response

    async def prompt(self, session_id: str, text: str) -> Object:
        """Send a prompt and return the whole response."""
        return await self.request("session/prompt", prompt_params(session_id, text))

    async def notify(self, method: str, params: JsonValue) -> None:
        """Send a notification."""
        await self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def send(self, message: JsonValue) -> None:
        """Send any JSON value as one line."""
        await self.send_line(json.dumps(message).encode())

    async def send_line(self, line: bytes) -> None:
        """Send raw bytes and a newline as one unit, also with concurrent senders.

        Shielded, because a cancelled sender would otherwise leave half a line on the wire.
        """
        assert self._process.stdin is not None
        with anyio.CancelScope(shield=True):
            await self._process.stdin.send(line + b"\n")

    async def shut_down(self) -> None:
        """Close the server's stdin and wait until it exits cleanly."""
        assert self._process.stdin is not None
        self._is_shutting_down = True
        await self._process.stdin.aclose()
        await self._has_exited.wait()
        assert await self._process.wait() == 0

    async def receive_messages(self) -> None:
        """Receive messages until the server closes its stream."""
        assert self._process.stdout is not None
        unread = bytearray()
        async for data in self._process.stdout:
            unread += data
            *lines, rest = unread.split(b"\n")
            unread = bytearray(rest)
            for line in lines:
                self._handle_message(check_message(bytes(line)))
        assert not unread, "the last line is cut"
        self._has_exited.set()

    def _handle_message(self, message: Object) -> None:
        self.received += 1
        if "method" in message:
            params = message["params"]
            assert isinstance(params, dict), message
            session_id = str(params.get("sessionId"))  # `$/cancel_request` has none
            if session_id in self._listeners:
                self._listeners[session_id](message)
        elif message["id"] is not None:
            number = message["id"]
            assert isinstance(number, int)
            assert number in self._open, f"an answer to nothing: {message}"
            request = self._open.pop(number)
            self.answered += 1
            request.response = message
            request.is_answered.set()
