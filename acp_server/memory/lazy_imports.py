"""External memory of a server, imported in a thread at its first use.

Finished turns are passed to it in the background; on shutdown it gets a moment to receive them.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from acp_server.memory.pages import MemoryPage, memory_pages
from acp_server.memory.provider_types import ProviderReply, TurnMessage
from acp_server.startup.lazy_value import Lazy
from prompt_engine.memory_entries import StoreName

if TYPE_CHECKING:
    from acp_server.memory.providers import IsolatedMemoryProvider

CLOSE_SECONDS = 0.5
"""How long the server waits at shutdown for turns that are being passed on."""

MemoryTask = Callable[[], Coroutine[object, object, None]]


class LazyExternalMemory:
    """Memory provider shared by all sessions of a server; imported once."""

    def __init__(self, name: str, home: Path, spawn: Callable[[MemoryTask], None]) -> None:
        """Prepare; nothing is imported. `spawn` runs a task in the background."""
        self.name = name
        self._spawn = spawn
        self._memory = Lazy(partial(_import, name, home))
        self._pending: set[anyio.Event] = set()

    async def system_block(self) -> ProviderReply:
        """Return the provider's text for the system prompt."""
        return await (await self._memory.get()).system_block()

    async def prefetch(self, query: str) -> ProviderReply:
        """Return remembered text that fits a prompt."""
        return await (await self._memory.get()).prefetch(query)

    def record_turn(self, messages: Sequence[TurnMessage], warn: Callable[[str], None]) -> None:
        """Pass a finished turn to it in the background; `warn` receives a notice if that fails."""
        is_done = anyio.Event()

        async def deliver() -> None:
            try:
                reply = await (await self._memory.get()).on_turn_end(messages)
                if reply.notice:
                    warn(reply.notice)
            finally:
                is_done.set()
                self._pending.discard(is_done)

        # Before `spawn`: a `close` right after this call must wait for the task.
        self._pending.add(is_done)
        self._spawn(deliver)

    async def close(self) -> None:
        """Wait for a moment for the turns that are being passed on."""
        with anyio.move_on_after(CLOSE_SECONDS):
            for is_done in tuple(self._pending):
                await is_done.wait()


def _import(name: str, home: Path) -> "IsolatedMemoryProvider":
    from acp_server.memory.providers import create_external_memory
    from prompt_engine.threats import scan

    return create_external_memory(name, home, scan)


def read_memory_pages(home: Path, limits: Mapping[StoreName, int]) -> tuple[MemoryPage, ...]:
    """Return the stores under HERMES_HOME that have a limit, in characters. Blocks."""
    from acp_server.memory.store import MemoryStores
    from prompt_engine.threats import scan

    return memory_pages(MemoryStores(home, limits, scan), scan)
