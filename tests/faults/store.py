"""What a store is, for the tests of a disk that fails; simple ways to begin and read one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Store:
    """A store, and one change of it."""

    id: str
    begin: Callable[[Path], object]
    change: Callable[[Path], object]
    """Makes the change."""
    read: Callable[[Path], object]
    """Returns what a reader finds who knows nothing of before."""
    failures: tuple[type[Exception], ...] = (OSError,)
    """What the change may raise when the disk fails; nothing: it is never worth a failure."""
    cleared_later: str = ""
    """A folder for work in progress, which the next change clears away."""


def nothing(folder: Path) -> None:
    """Begin without anything."""
    del folder


def bytes_of(*names: str) -> Callable[[Path], object]:
    """Return what reads files as they are."""

    def read(folder: Path) -> object:
        files = [folder / name for name in names]
        return [each.read_bytes() if each.exists() else None for each in files]

    return read
