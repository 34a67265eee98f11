"""Both memory stores as shown to the user. Cheap to import; `lazy_imports` reads them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acp_server.memory.errors import MemoryStoreError
from acp_server.startup.fast_dataclass import frozen_dataclass
from prompt_engine.findings import ThreatScan
from prompt_engine.memory_entries import StoreName

if TYPE_CHECKING:
    from acp_server.memory.store import MemoryStores


@frozen_dataclass
class MemoryPage:
    """Content of one memory store."""

    name: StoreName
    path: Path
    entries: tuple[str, ...]
    blocked: frozenset[int]
    """Indexes (from 0) of the entries that are hidden from the model."""
    usage: str
    """Used and available characters, such as `1,474/2,200`."""
    problem: str = ""
    """Why it cannot be read; empty if it can."""


ReadMemory = Callable[[], Sequence[MemoryPage]]
"""Returns the enabled stores; blocks."""


def no_memory_pages() -> Sequence[MemoryPage]:
    """Return no stores."""
    return ()


def memory_pages(memory: "MemoryStores", scan: ThreatScan) -> tuple[MemoryPage, ...]:
    """Return the enabled stores. Blocks."""
    return tuple(_page(memory, name, scan) for name in memory.names)


def _page(memory: "MemoryStores", name: StoreName, scan: ThreatScan) -> MemoryPage:
    path = memory.path(name)
    try:
        contents = memory.contents(name)
    except MemoryStoreError as error:
        return MemoryPage(name, path, (), frozenset(), "", error.reason)
    entries = contents.entries
    blocked = frozenset(n for n, entry in enumerate(entries) if scan(entry, "strict"))
    return MemoryPage(name, path, entries, blocked, contents.usage)
