"""Peers over an in-memory transport, connected to another peer or to a raw client."""

import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
from anyio import lowlevel
from pydantic import JsonValue

from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.framing import MAX_MESSAGE_BYTES
from acp_server.jsonrpc.memory import MemoryTransport, create_memory_pair
from acp_server.jsonrpc.outbox import CAPACITY_BYTES
from acp_server.jsonrpc.peer import Handlers, InboundRequest, Peer, RequestHandler
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

AnswerFunction = Callable[[JsonValue], Awaitable[JsonValue]]


def make_handler(answer: AnswerFunction) -> RequestHandler:
    """Return a request handler whose work is entirely asynchronous."""

    def handle(params: JsonValue, call: InboundRequest) -> Job:
        del call

        async def run() -> Reply:
            return Reply(await answer(params))

        return run

    return handle


async def echo(params: JsonValue) -> JsonValue:
    """Answer with the params."""
    return params


ECHO = {"echo": make_handler(echo)}


class BlockedRequest:
    """Handler that echoes the params when the test allows it."""

    def __init__(self) -> None:
        self.started = anyio.Event()
        self.allowed_to_end = anyio.Event()
        self.was_cancelled = False

    async def answer(self, params: JsonValue) -> JsonValue:
        """Wait, then echo."""
        self.started.set()
        try:
            await self.allowed_to_end.wait()
        except anyio.get_cancelled_exc_class():
            self.was_cancelled = True
            raise
        return params


async def run_ready_tasks() -> None:
    """Yield to the event loop until all ready tasks have run."""
    for _ in range(20):
        await lowlevel.checkpoint()


@asynccontextmanager
async def open_two_peers(
    local_handlers: Handlers, remote_handlers: Handlers
) -> AsyncGenerator[tuple[Peer, Peer]]:
    """Run two peers that are connected to each other."""
    our_end, their_end = create_memory_pair()
    our_peer, their_peer = Peer(our_end), Peer(their_end)
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_serve, our_peer, local_handlers, our_end)
            tasks.start_soon(_serve, their_peer, remote_handlers, their_end)
            yield our_peer, their_peer
            our_end.end()


async def _serve(
    peer: Peer,
    handlers: Handlers,
    transport: MemoryTransport,
    on_disconnect: Callable[[], Awaitable[None]] | None = None,
) -> None:
    async with transport:
        await peer.run(handlers, on_disconnect)


class RawClient:
    """Client that exchanges raw lines with a peer."""

    def __init__(self, peer: Peer, transport: MemoryTransport, server_end: MemoryTransport) -> None:
        self.peer = peer
        self.server_end = server_end
        self._transport = transport
        self._received: list[JsonValue] = []

    def send(self, *messages: JsonValue) -> None:
        """Send JSON values, one per line, in a single write."""
        self.send_lines(*(json.dumps(message).encode() for message in messages))

    def request(self, request_id: JsonValue, method: str, params: JsonValue = None) -> None:
        """Send a request."""
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})

    def notify(self, method: str, params: JsonValue = None) -> None:
        """Send a notification."""
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def cancel(self, request_id: JsonValue) -> None:
        """Send `$/cancel_request`."""
        self.notify("$/cancel_request", {"requestId": request_id})

    def send_lines(self, *lines: bytes) -> None:
        """Send raw lines in a single write."""
        self.send_bytes(b"".join(line + b"\n" for line in lines))

    def send_bytes(self, data: bytes) -> None:
        """Send raw bytes."""
        self._transport.send(data)

    def end(self) -> None:
        """End the stream."""
        self._transport.end()

    async def receive(self) -> JsonValue:
        """Return the next message."""
        while not self._received:
            lines = await self._transport.receive()
            assert lines, "the peer ended its stream"
            self._received = [json.loads(line) for line in lines if isinstance(line, bytes)]
        return self._received.pop(0)

    async def receive_until_end(self) -> list[JsonValue]:
        """End the stream and return all messages until the peer ends its own."""
        self.end()
        received, self._received = self._received, []
        while lines := await self._transport.receive():
            received += [json.loads(line) for line in lines if isinstance(line, bytes)]
        return received


@asynccontextmanager
async def open_raw_client(
    handlers: Handlers,
    *,
    capacity_bytes: int = CAPACITY_BYTES,
    limit_bytes: int = MAX_MESSAGE_BYTES,
    is_file: bool = False,
    on_disconnect: Callable[[], Awaitable[None]] | None = None,
) -> AsyncGenerator[RawClient]:
    """Run a peer and connect a raw client to it."""
    server_end, client_end = create_memory_pair(
        capacity_bytes=capacity_bytes, limit_bytes=limit_bytes, is_file=is_file
    )
    peer = Peer(server_end)
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_serve, peer, handlers, server_end, on_disconnect)
            yield RawClient(peer, client_end, server_end)
            client_end.end()


def result(request_id: JsonValue, value: JsonValue) -> JsonValue:
    """Return a success response as a JSON value."""
    return {"jsonrpc": "2.0", "id": request_id, "result": value}


def error(request_id: JsonValue, code: int, message: str, reason: str) -> JsonValue:
    """Return an error response as a JSON value."""
    line = " ".join(f"{message}: {reason}".split())
    body: JsonValue = {"code": code, "message": line, "data": {"details": reason}}
    return {"jsonrpc": "2.0", "id": request_id, "error": body}
