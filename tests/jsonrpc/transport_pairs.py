"""Connected pairs of every kind of transport, so that one set of tests covers all."""

import os
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
from anyio import to_thread

from acp_server.jsonrpc.framing import MAX_MESSAGE_BYTES, Line
from acp_server.jsonrpc.memory import create_memory_pair
from acp_server.jsonrpc.outbox import CAPACITY_BYTES
from acp_server.jsonrpc.stdio import Descriptors, StdioTransport
from acp_server.jsonrpc.transport import Transport


@dataclass(frozen=True)
class TransportLimits:
    """Limits of both transports of a pair."""

    capacity_bytes: int = CAPACITY_BYTES
    limit_bytes: int = MAX_MESSAGE_BYTES


class TransportPair(ABC):
    """Connected transports, one to send and one to receive; the test enters them."""

    local: Transport
    remote: Transport

    @abstractmethod
    def end(self) -> None:
        """End the sending side after the flushed data."""

    async def transfer(self, *sent: bytes) -> list[Line]:
        """Send exactly these bytes and return the lines that the other side receives."""
        received: list[Line] = []

        async def receive() -> None:
            received.extend(await receive_all(self.remote))

        async with self.local as local, self.remote, anyio.create_task_group() as tasks:
            tasks.start_soon(receive)
            await send_all(local, sent)
            self.end()
        return received


class DuplexTransportPair(TransportPair):
    """Transport pair whose sides can be used at the same time."""

    @abstractmethod
    async def stop_reading(self) -> None:
        """Close the reading end of the other side, which must not have been entered."""


async def send_all(transport: Transport, sent: Sequence[bytes]) -> None:
    """Send all bytes and flush."""
    for line in sent:
        transport.send(line)
    await transport.flush()


async def receive_all(transport: Transport) -> list[Line]:
    """Receive until the end of the stream."""
    received: list[Line] = []
    while batch := await transport.receive():
        received += batch
    return received


class MemoryTransportPair(DuplexTransportPair):
    """Transport pair in memory."""

    def __init__(self, limits: TransportLimits) -> None:
        self.local, self.remote = self._first, self._second = create_memory_pair(
            capacity_bytes=limits.capacity_bytes, limit_bytes=limits.limit_bytes
        )

    def end(self) -> None:
        self._first.end()

    async def stop_reading(self) -> None:
        async with self._second:
            pass


class PipeTransportPair(DuplexTransportPair):
    """Transport pair over two pipes."""

    def __init__(self, limits: TransportLimits) -> None:
        our_read, their_write = os.pipe()
        their_read, our_write = os.pipe()
        self.local = _stdio(limits, our_read, our_write)
        self.remote = _stdio(limits, their_read, their_write)
        self._our_write = our_write
        self._their_read = their_read
        self._open = [our_write, their_write, their_read, our_read]

    def end(self) -> None:
        self._close([self._our_write])

    async def stop_reading(self) -> None:
        self._close([self._their_read])

    def close(self) -> None:
        self._close(list(self._open))

    def _close(self, descriptors: list[int]) -> None:
        for descriptor in descriptors:
            if descriptor in self._open:
                self._open.remove(descriptor)
                os.close(descriptor)


class SocketTransportPair(DuplexTransportPair):
    """Transport pair over a socket pair."""

    def __init__(self, limits: TransportLimits) -> None:
        self._our_socket, self._their_socket = socket.socketpair()
        self.local = _stdio(limits, self._our_socket.fileno(), self._our_socket.fileno())
        self.remote = _stdio(limits, self._their_socket.fileno(), self._their_socket.fileno())

    def end(self) -> None:
        self._our_socket.shutdown(socket.SHUT_WR)

    async def stop_reading(self) -> None:
        self._their_socket.shutdown(socket.SHUT_RD)

    def close(self) -> None:
        for each in (self._our_socket, self._their_socket):
            # closing alone would not wake a thread that blocks in a read
            each.shutdown(socket.SHUT_RDWR)
        self._our_socket.close()
        self._their_socket.close()


class FileTransportPair(TransportPair):
    """Transport pair over a regular file, which is written completely before it is read."""

    def __init__(self, limits: TransportLimits, folder: Path) -> None:
        path = folder / "lines"
        self._descriptors = [
            os.open(path, os.O_WRONLY | os.O_CREAT),
            os.open(path, os.O_RDONLY),
            os.open(os.devnull, os.O_RDWR),
        ]
        write, read, nothing = self._descriptors
        self.local = _stdio(limits, nothing, write)
        self.remote = _stdio(limits, read, nothing)

    def end(self) -> None: ...

    async def transfer(self, *sent: bytes) -> list[Line]:
        async with self.local as local:
            await send_all(local, sent)
        async with self.remote as remote:
            return await receive_all(remote)

    def close(self) -> None:
        for descriptor in self._descriptors:
            os.close(descriptor)


def _stdio(limits: TransportLimits, read: int, write: int) -> StdioTransport:
    return StdioTransport(
        Descriptors(read, write),
        capacity_bytes=limits.capacity_bytes,
        limit_bytes=limits.limit_bytes,
    )


@asynccontextmanager
async def check_no_threads_left(close: Callable[[], None]) -> AsyncGenerator[None]:
    """On exit, close the descriptors and check that all transport threads end."""
    before = threading.enumerate()
    try:
        yield
    finally:
        close()
        left = [
            each
            for each in threading.enumerate()
            if each.name.startswith("acp-") and each not in before
        ]
        with anyio.CancelScope(shield=True):
            for thread in left:
                await to_thread.run_sync(thread.join, 10)
        assert not any(thread.is_alive() for thread in left)


@asynccontextmanager
async def open_duplex_pair(
    kind: str, limits: TransportLimits | None = None
) -> AsyncGenerator[DuplexTransportPair]:
    """Open a bidirectional pair: `memory`, `pipes` or `sockets`."""
    limits = limits or TransportLimits()
    if kind == "memory":
        yield MemoryTransportPair(limits)
        return
    link = PipeTransportPair(limits) if kind == "pipes" else SocketTransportPair(limits)
    async with check_no_threads_left(link.close):
        yield link


@asynccontextmanager
async def open_pair(
    kind: str, limits: TransportLimits | None = None
) -> AsyncGenerator[TransportPair]:
    """Open a pair of any kind, `files` included."""
    if kind != "files":
        async with open_duplex_pair(kind, limits) as link:
            yield link
        return
    with TemporaryDirectory() as folder:
        files = FileTransportPair(limits or TransportLimits(), Path(folder))
        async with check_no_threads_left(files.close):
            yield files
