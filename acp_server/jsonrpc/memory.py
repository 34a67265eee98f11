"""Two connected in-process transports: for tests, and to drive the server without pipes."""

from collections.abc import Hashable, Sequence
from typing import Self

import anyio

from acp_server.jsonrpc.framing import MAX_MESSAGE_BYTES, Line, LineSplitter
from acp_server.jsonrpc.outbox import CAPACITY_BYTES, CoalesceKey, Outbox
from acp_server.jsonrpc.transport import CapacityWaiters

BATCH_BYTES = 256 * 1024
UNBOUNDED_BYTES = 2**62


class _Pipe:
    """One direction: its queue, the tasks waiting for capacity, and whether it has ended."""

    def __init__(self, capacity_bytes: int) -> None:
        self.outbox = Outbox(capacity_bytes)
        self.capacity_waiters = CapacityWaiters(self.outbox)
        self.arrived = anyio.Event()
        self.has_ended = False

    def end(self) -> None:
        self.has_ended = True
        self.outbox.close()
        self.arrived.set()


class MemoryTransport:
    """One end of a pair; each end receives the bytes the other sends, framed as on a pipe."""

    def __init__(
        self, outgoing: _Pipe, incoming: _Pipe, limit_bytes: int, *, is_file: bool
    ) -> None:
        self.finishes_requests_at_end = is_file
        self.wait_for_capacity = outgoing.capacity_waiters.wait_for_capacity
        self.flush = outgoing.capacity_waiters.wait_until_empty
        self._outgoing = outgoing
        self._incoming = incoming
        self._splitter = LineSplitter(limit_bytes)

    async def __aenter__(self) -> Self:
        """Return self; there is nothing to start."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """End the stream for the other side and release its senders."""
        self.end()
        # The other side may wait for capacity in a queue that is never read again: close it, then
        # wake the waiters so that they see it.
        self._incoming.outbox.close(discard=True)
        self._incoming.capacity_waiters.wake_all()

    def send(
        self, line: bytes, replace_key: Hashable = None, coalesce_key: CoalesceKey | None = None
    ) -> None:
        """Queue a line for the other end."""
        self._outgoing.outbox.put(line, replace_key, coalesce_key)
        self._outgoing.arrived.set()

    @property
    def has_capacity(self) -> bool:
        """Whether the queue is below its bound."""
        return self._outgoing.outbox.has_capacity

    def end(self) -> None:
        """Close the outgoing half: the other end reads the queued lines, then the end."""
        self._outgoing.end()

    async def receive(self) -> Sequence[Line]:
        """Return the lines the other end has sent."""
        while True:
            # Renew the event before looking at the queue: a line sent in between sets the new event
            # and is found without waiting.
            self._incoming.arrived = anyio.Event()
            chunks = self._incoming.outbox.take_nowait(BATCH_BYTES)
            self._incoming.capacity_waiters.wake_all()
            lines = [line for chunk in chunks for line in self._splitter.feed(chunk)]
            if lines:
                return lines
            # Data without a newline yet: look for more before testing for the end.
            if chunks:
                continue
            if self._incoming.has_ended:
                return self._splitter.finish()
            await self._incoming.arrived.wait()


def create_memory_pair(
    *,
    capacity_bytes: int = CAPACITY_BYTES,
    limit_bytes: int = MAX_MESSAGE_BYTES,
    is_file: bool = False,
) -> tuple[MemoryTransport, MemoryTransport]:
    """Return two ends, connected like two processes joined by pipes.

    `capacity_bytes` bounds the first end's outgoing queue (the second's is unbounded). With
    `is_file` the first end's input ends like a file: requests that were read are still answered.
    """
    outbound, inbound = _Pipe(capacity_bytes), _Pipe(UNBOUNDED_BYTES)
    first = MemoryTransport(outbound, inbound, limit_bytes, is_file=is_file)
    return first, MemoryTransport(inbound, outbound, limit_bytes, is_file=False)
