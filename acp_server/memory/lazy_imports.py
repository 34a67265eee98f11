"""Imports the memory when somebody looks at it, or if an external one is configured."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from acp_server.memory.errors import MemoryStoreError
from acp_server.memory.pages import MemoryPage
from prompt_engine.memory_entries import StoreName

if TYPE_CHECKING:
    from acp_server.memory.providers import ExternalMemory, MemoryTask


def open_external_memory(
    name: str, home: Path, spawn: "Callable[[MemoryTask], object]"
) -> "ExternalMemory | None":
    """Return the provider of this name, not loaded yet; None if the name is empty.

    If it is not installed, each call reports that, like any failure.
    """
    if not name:
        return None
    from acp_server.memory.providers import ExternalMemory, load_provider

    return ExternalMemory(name, partial(load_provider, name, home), spawn)


def read_memory_pages(home: Path, limits: Mapping[StoreName, int]) -> tuple[MemoryPage, ...]:
    """Return the stores under HERMES_HOME that have a limit, in characters. Blocks."""
    from acp_server.memory.store import MemoryStores
    from prompt_engine.threats import scan

    memory = MemoryStores(home, limits, scan)

    def page(name: StoreName) -> MemoryPage:
        path = memory.path(name)
        try:
            contents = memory.contents(name)
        except MemoryStoreError as error:
            return MemoryPage(name, path, (), frozenset(), "", error.reason)
        entries = contents.entries
        blocked = frozenset(n for n, entry in enumerate(entries) if scan(entry, "strict"))
        return MemoryPage(name, path, entries, blocked, contents.usage)

    return tuple(map(page, memory.names))
