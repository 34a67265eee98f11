"""Both memory stores as shown to the user. Cheap to import; `lazy_imports` reads them."""

from collections.abc import Callable, Sequence
from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass
from prompt_engine.memory_entries import StoreName


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
