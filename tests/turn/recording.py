"""Sinks that the tests look into, and ids that can be known beforehand."""

import anyio

from acp_server.turn.events import Event, MessageChunk, ThoughtChunk


class RecordingSink:
    """Keeps what it is given, and never has to wait."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    async def ready(self) -> None:
        """Do not wait."""

    def show(self, event: Event) -> None:
        """Keep one event."""
        self.events.append(event)

    async def emit(self, event: Event) -> None:
        """Keep one event."""
        self.events.append(event)

    def emit_now(self, event: Event) -> None:
        """Keep one event."""
        self.events.append(event)

    @property
    def text(self) -> str:
        """The text of all messages and thoughts, one behind the other."""
        chunks = (each for each in self.events if isinstance(each, MessageChunk | ThoughtChunk))
        return "".join(chunk.text for chunk in chunks)


class SlowSink(RecordingSink):
    """Is ready once the test opens it; until then whoever emits has to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.is_awaited = anyio.Event()
        self.opens = anyio.Event()

    async def ready(self) -> None:
        """Wait for the test."""
        self.is_awaited.set()
        await self.opens.wait()

    async def emit(self, event: Event) -> None:
        """Wait, then keep one event."""
        await self.ready()
        await super().emit(event)


class Ids:
    """Message ids for tests: m1, m2 and so on."""

    def __init__(self) -> None:
        self._given = 0

    def __call__(self) -> str:
        """Return the next id."""
        self._given += 1
        return f"m{self._given}"
