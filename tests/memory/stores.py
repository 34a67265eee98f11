"""Shorthands for memory stores in a test home."""

from pathlib import Path

from acp_server.memory.operations import EntryOperation
from acp_server.memory.results import MemoryResult
from acp_server.memory.store import MemoryStores
from prompt_engine.memory_entries import StoreName
from prompt_engine.threats import scan


def open_memory(home: Path, limit: int = 2_200) -> MemoryStores:
    """Return a `Memory` that reads the stores of a home again."""
    return MemoryStores(home, {"memory": limit, "user": 1_375}, scan)


def add_entries(home: Path, *contents: str, name: StoreName = "memory") -> MemoryResult:
    """Add entries in one call, as a new process would."""
    return open_memory(home, 10**6).apply(name, [EntryOperation("add", each) for each in contents])


def read_entries(home: Path, name: StoreName = "memory") -> tuple[str, ...]:
    """Return the entries of a store."""
    return open_memory(home).contents(name).entries


def write_memory_file(home: Path, data: str | bytes, name: str = "MEMORY.md") -> Path:
    """Write a memory file by hand."""
    path = home / "memories" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
