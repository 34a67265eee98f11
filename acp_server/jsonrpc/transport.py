"""What a peer needs of the world: lines in, lines out, and a place to wait for room."""

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import anyio

from acp_server.jsonrpc.framing import Line
from acp_server.jsonrpc.outbox import Outbox, Seam


class Transport(AbstractAsyncContextManager["Transport"], Protocol):
    """A duplex stream of lines. Entering starts it, leaving stops it and drops what is unsent."""

    @property
    def finishes_requests_at_end(self) -> bool:
        """Whether the end of input is the end of a file: what was read is still to be answered."""
        ...

    async def receive(self) -> Sequence[Line]:
        """Return the next lines, at least one; an empty sequence is the end, for good."""
        ...

    def send(self, line: bytes, replaces: Hashable = None, seam: Seam | None = None) -> None:
        """Queue a line behind all others. Never waits; silent once the other side is gone.

        `replaces` and `seam` say which unsent lines it stands for, or may be joined to.
        """
        ...

    @property
    def has_room(self) -> bool:
        """Whether the queue is below its bound."""
        ...

    async def wait_for_room(self) -> None:
        """Wait until the queue is below its bound. Waiters go on together, in order."""
        ...

    async def flush(self) -> None:
        """Wait until everything queued was handed to the other side, or that side is gone."""
        ...


class Room:
    """Where streams wait for an outbox to drain. Used on the event loop only."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._waiting: deque[anyio.Event] = deque()

    @property
    def is_awaited(self) -> bool:
        """Whether the writer should call `announce` after it has taken lines."""
        return bool(self._waiting)

    async def wait(self) -> None:
        """Return when the outbox has room."""
        await self._wait_until(lambda: self._outbox.has_room)

    async def wait_empty(self) -> None:
        """Return when the outbox is empty."""
        await self._wait_until(lambda: self._outbox.is_empty)

    async def _wait_until(self, satisfied: Callable[[], bool]) -> None:
        while not satisfied():
            event = anyio.Event()
            self._waiting.append(event)
            if satisfied():  # the writer may have looked just before we queued
                return
            await event.wait()

    def announce(self) -> None:
        """Let everybody who waits look again."""
        waiting, self._waiting = self._waiting, deque()
        for event in waiting:
            event.set()
