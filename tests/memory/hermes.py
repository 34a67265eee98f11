"""Access of Hermes to a memory file: how it reads, when it refuses to edit, how it writes.

Run as a program, it adds entries under the lock, like a concurrent Hermes session.
"""

import fcntl
import sys
import tempfile
from pathlib import Path

SEPARATOR = "\n§\n"


def parse_entries(text: str) -> list[str]:
    """Parse entries as Hermes does, which opens files with universal newlines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    pieces = (piece.strip() for piece in text.split(SEPARATOR))
    return [piece for piece in pieces if piece]


def read_entries(path: Path) -> list[str]:
    """Return the entries of a file; none if it does not exist."""
    return parse_entries(path.read_bytes().decode()) if path.exists() else []


def refuses_to_edit(path: Path, limit: int) -> bool:
    """Return whether Hermes considers a file foreign, and therefore refuses to edit it."""
    entries = read_entries(path)
    text = path.read_text(encoding="utf-8").strip()
    return text != SEPARATOR.join(entries) or any(len(entry) > limit for entry in entries)


def add_entry(path: Path, entry: str) -> None:
    """Add an entry as Hermes does: lock, write a new file, rename it."""
    with path.with_suffix(".md.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        entries = [*read_entries(path), entry]
        with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
            file.write(SEPARATOR.join(entries))
        Path(file.name).replace(path)


if __name__ == "__main__":
    for number in range(int(sys.argv[3])):
        add_entry(Path(sys.argv[1]), f"{sys.argv[2]} {number}")
