"""Fake event sinks, and message ids that tests can predict."""

import anyio

from acp_server.turn.events import Event, MessageChunk, ThoughtChunk


class MemorySink:
    """Sink that stores events in memory and is always ready."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def ready(self) -> None:
        """Return at once."""

    def show(self, event: Event) -> None:
        """Store one event."""
        self.events.append(event)

    async def emit(self, event: Event) -> None:
        """Store one event."""
        self.events.append(event)

    def emit_now(self, event: Event) -> None:
        """Store one event."""
        self.events.append(event)

    @property
    def text(self) -> str:
        """Concatenated text of all messages and thoughts."""
        chunks = (each for each in self.events if isinstance(each, MessageChunk | ThoughtChunk))
        return "".join(chunk.text for chunk in chunks)


class BlockedSink(MemorySink):
    """Sink that blocks `emit` until the test opens it."""

    def __init__(self) -> None:
        super().__init__()
        self.wait_started = anyio.Event()
        self.opened = anyio.Event()

    async def ready(self) -> None:
        """Wait until the test opens the sink."""
        self.wait_started.set()
        await self.opened.wait()

    async def emit(self, event: Event) -> None:
        """Wait, then store one event."""
        await self.ready()
        await super().emit(event)


class SequentialIds:
    """Generator of message ids: m1, m2 and so on."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self) -> str:
        """Return the next id."""
        self._count += 1
        return f"m{self._count}"
