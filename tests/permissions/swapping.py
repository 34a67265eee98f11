"""Threads that keep swapping files or directories with symlinks, without a gap."""

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

_EXCHANGE = 2
_HERE = -100


@contextmanager
def _repeating(swap: Callable[[], object]) -> Generator[None]:
    is_over = threading.Event()

    def go_on() -> None:
        while not is_over.is_set():
            swap()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


@contextmanager
def swapping_file(file: Path, target: Path) -> Generator[None]:
    """Alternate a path between a regular file and a symlink to `target`."""
    temporary = file.with_name("aside")

    def swap() -> None:
        temporary.symlink_to(target)
        temporary.replace(file)  # atomic: the path exists at every moment
        temporary.write_text("harmless\n")
        temporary.replace(file)

    with _repeating(swap):
        yield


@contextmanager
def swapping_folder(folder: Path, target: Path) -> Generator[None]:
    """Alternate a path between a directory and a symlink to another directory.

    At the end it is the directory again.
    """
    temporary = folder.with_name(f"{folder.name}-aside")
    temporary.symlink_to(target)
    try:
        with _repeating(lambda: swap_entries(folder, temporary)):
            yield
    finally:
        if folder.is_symlink():
            swap_entries(folder, temporary)
        temporary.unlink()


def swap_entries(one: Path, other: Path) -> None:
    """Swap two directory entries atomically, or with renames where the system cannot."""
    if sys.platform == "linux":
        names = os.fsencode(one), os.fsencode(other)
        library = ctypes.CDLL(None, use_errno=True)
        if library.renameat2(_HERE, names[0], _HERE, names[1], _EXCHANGE) == 0:
            return
    spare = one.with_name(f"{one.name}-spare")
    one.rename(spare)
    other.rename(one)
    spare.rename(other)
