"""Both stores of the memory as a person is shown them. Cheap to import: the reading is not."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prompt_engine.memory_entries import StoreName


@dataclass(frozen=True, slots=True)
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


def read_pages(home: Path, limits: Mapping[StoreName, int]) -> tuple[MemoryPage, ...]:
    """Return the stores under HERMES_HOME that have a size, in characters. Blocks."""
    from acp_server.memory.errors import StoreError
    from acp_server.memory.store import Memory
    from prompt_engine.threats import scan

    memory = Memory(home, limits, scan)
    pages: list[MemoryPage] = []
    for name in memory.names:
        path = memory.path(name)
        try:
            contents = memory.contents(name)
        except StoreError as error:
            pages.append(MemoryPage(name, path, (), frozenset(), "", str(error)))
            continue
        entries = contents.entries
        blocked = frozenset(n for n, entry in enumerate(entries) if scan(entry, "strict"))
        pages.append(MemoryPage(name, path, entries, blocked, contents.usage))
    return tuple(pages)
