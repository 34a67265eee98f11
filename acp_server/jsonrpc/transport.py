"""The transport a peer needs: lines in, lines out, and back-pressure."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import anyio

from acp_server.jsonrpc.framing import Line
from acp_server.jsonrpc.outbox import CoalesceKey, Outbox


class Transport(AbstractAsyncContextManager["Transport"], Protocol):
    """A duplex stream of lines. Entering starts it; leaving stops it and drops unsent lines."""

    @property
    def finishes_requests_at_end(self) -> bool:
        """Whether the input is a file: requests read before its end are still answered."""
        ...

    async def receive(self) -> Sequence[Line]:
        """Return the next lines, at least one. An empty sequence is the permanent end."""
        ...

    def send(
        self, line: bytes, replace_key: Hashable = None, coalesce_key: CoalesceKey | None = None
    ) -> None:
        """Queue a line behind all others. Never waits; a no-op once the other side is gone.

        `replace_key` and `coalesce_key` select the unsent line that this one replaces or may be
        joined to.
        """
        ...

    @property
    def has_capacity(self) -> bool:
        """Whether the queue is below its bound."""
        ...

    async def wait_for_capacity(self) -> None:
        """Wait until the queue is below its bound. Waiters resume together, in order."""
        ...

    async def flush(self) -> None:
        """Wait until all queued lines were written, or the other side is gone."""
        ...


class CapacityWaiters:
    """Tasks that wait for an outbox to drain. Used on the event loop only."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._waiters: deque[anyio.Event] = deque()

    @property
    def has_waiters(self) -> bool:
        """Whether the writer should call `wake_all` after it has taken lines."""
        return bool(self._waiters)

    async def wait_for_capacity(self) -> None:
        """Return when the outbox is below its bound."""
        await self._wait_until(lambda: self._outbox.has_capacity)

    async def wait_until_empty(self) -> None:
        """Return when the outbox is empty."""
        await self._wait_until(lambda: self._outbox.is_empty)

    async def _wait_until(self, condition: Callable[[], bool]) -> None:
        while not condition():
            event = anyio.Event()
            self._waiters.append(event)
            # The writer thread checks `has_waiters` without a lock. It may have taken the last
            # lines just before the append above and will then never announce them.
            if condition():
                return
            await event.wait()

    def wake_all(self) -> None:
        """Wake all waiters, so that each checks its condition again."""
        waiting, self._waiters = self._waiters, deque()
        for event in waiting:
            event.set()
