"""Transport over two file descriptors: one reader thread and one writer thread.

Plain os.read and os.write on private descriptors work for pipes, sockets, terminals and regular
files alike, never switch a descriptor that others share to non-blocking, and cost the event loop
one hop for each batch. Neither thread keeps the process alive.
"""

import os
import select
import stat
from collections.abc import Callable, Coroutine, Iterator, Sequence
from threading import Lock, Thread
from typing import Self

import anyio
from anyio import from_thread, lowlevel
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from acp_server.jsonrpc.framing import MAX_MESSAGE_BYTES, Line, LineSplitter
from acp_server.jsonrpc.outbox import CAPACITY_BYTES, Outbox
from acp_server.jsonrpc.transport import CapacityWaiters
from acp_server.startup.fast_dataclass import frozen_dataclass

READ_BYTES = 256 * 1024
WRITE_BYTES = 64 * 1024
READ_AHEAD_BATCHES = 16


@frozen_dataclass
class Descriptors:
    """The two private descriptors of a connection, and bytes already read from the first."""

    read: int
    write: int
    preread_bytes: bytes = b""


class StdioTransport:
    """Lines over a pair of descriptors. Closes neither: a thread may still block in them."""

    def __init__(
        self,
        descriptors: Descriptors,
        *,
        capacity_bytes: int = CAPACITY_BYTES,
        limit_bytes: int = MAX_MESSAGE_BYTES,
    ) -> None:
        self._descriptors = descriptors
        self.finishes_requests_at_end = stat.S_ISREG(os.fstat(descriptors.read).st_mode)
        self._splitter = LineSplitter(limit_bytes)
        self._outbox = Outbox(capacity_bytes)
        self._capacity_waiters = CapacityWaiters(self._outbox)
        # Sending and waiting are the queue's own: no layer is in between.
        self.send = self._outbox.put
        self.wait_for_capacity = self._capacity_waiters.wait_for_capacity
        self.flush = self._capacity_waiters.wait_until_empty
        self._receive_stream: MemoryObjectReceiveStream[Sequence[Line]]
        self._send_stream: MemoryObjectSendStream[Sequence[Line]]
        self._loop_bridge: _LoopBridge

    async def __aenter__(self) -> Self:
        """Start both threads."""
        self._send_stream, self._receive_stream = anyio.create_memory_object_stream[Sequence[Line]](
            READ_AHEAD_BATCHES
        )
        self._loop_bridge = _LoopBridge()
        Thread(target=self._read_all, name="acp-reader", daemon=True).start()
        Thread(target=self._write_all, name="acp-writer", daemon=True).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stop reading and drop unsent lines; a blocked thread dies with the process."""
        self._outbox.close(discard=True)
        self._receive_stream.close()
        self._send_stream.close()
        # After the streams, whose closing makes a blocked `send` fail: until its call returns, the
        # thread needs a running loop.
        await self._loop_bridge.close()

    async def receive(self) -> Sequence[Line]:
        """Return the next batch of lines; empty at the end of the stream."""
        try:
            return await self._receive_stream.receive()
        except anyio.EndOfStream:
            return ()

    @property
    def has_capacity(self) -> bool:
        """Whether the queue is below its bound."""
        return self._outbox.has_capacity

    def _read_all(self) -> None:
        for chunk in _read_chunks(self._descriptors):
            lines = self._splitter.feed(chunk)
            # The hop waits while the loop has READ_AHEAD_BATCHES unread: a fast sender fills the
            # pipe, not this process's memory.
            if lines and not self._loop_bridge.run(
                lambda lines=lines: self._send_stream.send(lines)
            ):
                return
        last = self._splitter.finish()
        if last and not self._loop_bridge.run(lambda: self._send_stream.send(last)):
            return
        self._loop_bridge.run(self._send_stream.aclose)

    def _write_all(self) -> None:
        while lines := self._outbox.take(WRITE_BYTES):
            if not _write_all_bytes(self._descriptors.write, b"".join(lines)):
                self._outbox.close(discard=True)
                self.finishes_requests_at_end = False
                # A client that no longer reads is gone: end the input too, or the peer would serve
                # on.
                self._loop_bridge.run(self._send_stream.aclose)
            # Before waking: a waiter in `flush` looks at the queue again as soon as it runs.
            self._outbox.mark_delivered()
            if self._capacity_waiters.has_waiters:
                self._loop_bridge.run(self._wake_waiters)

    async def _wake_waiters(self) -> None:
        self._capacity_waiters.wake_all()


class _LoopBridge:
    """Runs coroutine functions on the event loop from other threads, while the loop exists."""

    def __init__(self) -> None:
        self._token = lowlevel.current_token()
        self._lock = Lock()
        self._is_closed = False
        self._active_calls = 0

    def run(self, call: Callable[[], Coroutine[None, None, None]]) -> bool:
        """Run the call and wait for it; False if the receiving end or the transport is closed."""
        # Check and count in one step: between them `close` could return, the loop close, and this
        # thread wait forever for a loop that no longer runs.
        with self._lock:
            if self._is_closed:
                return False
            self._active_calls += 1
        try:
            from_thread.run(call, token=self._token)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return False
        finally:
            with self._lock:
                self._active_calls -= 1
        return True

    async def close(self) -> None:
        """Refuse new calls and wait for those under way, which a closing loop would strand."""
        with self._lock:
            self._is_closed = True
        while self._active_calls:
            await lowlevel.cancel_shielded_checkpoint()


def _read_chunks(descriptors: Descriptors) -> Iterator[bytes]:
    """Yield data until the end of input; a terminal that hangs up also counts as the end."""
    if descriptors.preread_bytes:
        yield descriptors.preread_bytes
    while True:
        try:
            chunk = os.read(descriptors.read, READ_BYTES)
        except BlockingIOError:
            # Inherited as non-blocking. Wait here instead of clearing the flag: it belongs to the
            # open file description, which the parent process shares.
            select.select([descriptors.read], [], [])
            continue
        except OSError:
            return
        if not chunk:
            return
        yield chunk


def _write_all_bytes(descriptor: int, data: bytes) -> bool:
    """Write all bytes; return False if the other side no longer reads."""
    view = memoryview(data)
    while view:
        try:
            # os.write may write only a part, for a pipe that is nearly full or after a signal.
            view = view[os.write(descriptor, view) :]
        except BlockingIOError:
            select.select([], [descriptor], [])
        except OSError:
            return False
    return True
