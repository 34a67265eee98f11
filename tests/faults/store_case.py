"""Test case type for stores under disk faults, with simple setup and read functions."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class StoreCase:
    """A store and one change to it."""

    id: str
    prepare: Callable[[Path], object]
    change: Callable[[Path], object]
    """Makes the change."""
    read: Callable[[Path], object]
    """Returns the content that a new reader sees."""
    failures: tuple[type[Exception], ...] = (OSError,)
    """Errors that the change may raise when the disk fails. Empty: it must never raise."""
    scratch_directory: str = ""
    """Directory for work in progress, cleaned by the next change."""


def prepare_nothing(folder: Path) -> None:
    """Prepare nothing."""
    del folder


def make_bytes_reader(*names: str) -> Callable[[Path], object]:
    """Return a function that reads these files as bytes."""

    def read(folder: Path) -> object:
        files = [folder / name for name in names]
        return [each.read_bytes() if each.exists() else None for each in files]

    return read
