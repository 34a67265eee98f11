"""The transport a peer needs: lines in, lines out, and back-pressure."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import anyio

from acp_server.jsonrpc.framing import Line
from acp_server.jsonrpc.outbox import Outbox, Seam


class Transport(AbstractAsyncContextManager["Transport"], Protocol):
    """A duplex stream of lines. Entering starts it; leaving stops it and drops unsent lines."""

    @property
    def finishes_requests_at_end(self) -> bool:
        """Whether the input is a file: requests read before its end are still answered."""
        ...

    async def receive(self) -> Sequence[Line]:
        """Return the next lines, at least one. An empty sequence is the permanent end."""
        ...

    def send(self, line: bytes, replaces: Hashable = None, seam: Seam | None = None) -> None:
        """Queue a line behind all others. Never waits; a no-op once the other side is gone.

        `replaces` and `seam` select the unsent line that this one replaces or may be joined to.
        """
        ...

    @property
    def has_room(self) -> bool:
        """Whether the queue is below its bound."""
        ...

    async def wait_for_room(self) -> None:
        """Wait until the queue is below its bound. Waiters resume together, in order."""
        ...

    async def flush(self) -> None:
        """Wait until all queued lines were written, or the other side is gone."""
        ...


class Room:
    """Tasks that wait for an outbox to drain. Used on the event loop only."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._waiting: deque[anyio.Event] = deque()

    @property
    def is_awaited(self) -> bool:
        """Whether the writer should call `announce` after it has taken lines."""
        return bool(self._waiting)

    async def wait(self) -> None:
        """Return when the outbox is below its bound."""
        await self._wait_until(lambda: self._outbox.has_room)

    async def wait_empty(self) -> None:
        """Return when the outbox is empty."""
        await self._wait_until(lambda: self._outbox.is_empty)

    async def _wait_until(self, satisfied: Callable[[], bool]) -> None:
        while not satisfied():
            event = anyio.Event()
            self._waiting.append(event)
            # The writer thread checks `is_awaited` without a lock. It may have taken the last lines
            # just before the append above and will then never announce them.
            if satisfied():
                return
            await event.wait()

    def announce(self) -> None:
        """Wake all waiters, so that each checks its condition again."""
        waiting, self._waiting = self._waiting, deque()
        for event in waiting:
            event.set()
