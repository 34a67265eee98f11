"""Both stores of the memory as a person is shown them. Cheap to import; `loading` reads them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from acp_server.frozen import frozen
from acp_server.memory.errors import StoreError
from prompt_engine.findings import Scan
from prompt_engine.memory_entries import StoreName

if TYPE_CHECKING:
    from acp_server.memory.store import Memory


@frozen
class MemoryPage:
    """What one store holds."""

    name: StoreName
    path: Path
    entries: tuple[str, ...]
    blocked: frozenset[int]
    """Which of the entries, by their places from 0, no model is shown."""
    usage: str
    """How full it is, such as `1,474/2,200`."""
    problem: str = ""
    """Why it cannot be read."""


ReadMemory = Callable[[], Sequence[MemoryPage]]
"""Returns the stores that are switched on; blocks."""


def no_pages() -> Sequence[MemoryPage]:
    """There are no stores."""
    return ()


def pages_of(memory: "Memory", scan: Scan) -> tuple[MemoryPage, ...]:
    """Return the stores that are switched on. Blocks."""
    return tuple(_page(memory, name, scan) for name in memory.names)


def _page(memory: "Memory", name: StoreName, scan: Scan) -> MemoryPage:
    path = memory.path(name)
    try:
        contents = memory.contents(name)
    except StoreError as error:
        return MemoryPage(name, path, (), frozenset(), "", error.reason)
    entries = contents.entries
    blocked = frozenset(n for n, entry in enumerate(entries) if scan(entry, "strict"))
    return MemoryPage(name, path, entries, blocked, contents.usage)
