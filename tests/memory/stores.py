"""Shorthands for memory stores in a test home."""

from pathlib import Path

from acp_server.memory.operations import Operation
from acp_server.memory.results import Answer
from acp_server.memory.store import Memory
from prompt_engine.memory_entries import StoreName
from prompt_engine.threats import scan


def memory_of(home: Path, limit: int = 2_200) -> Memory:
    """Return a `Memory` that reads the stores of a home again."""
    return Memory(home, {"memory": limit, "user": 1_375}, scan)


def add(home: Path, *contents: str, name: StoreName = "memory") -> Answer:
    """Add entries in one call, as a new process would."""
    return memory_of(home, 10**6).apply(name, [Operation("add", each) for each in contents])


def entries(home: Path, name: StoreName = "memory") -> tuple[str, ...]:
    """Return the entries of a store."""
    return memory_of(home).contents(name).entries


def put(home: Path, data: str | bytes, name: str = "MEMORY.md") -> Path:
    """Write a memory file by hand."""
    path = home / "memories" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path
