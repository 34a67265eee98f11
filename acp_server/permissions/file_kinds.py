"""Kinds of files that may be out of reach: what cannot be looked at counts as absent. Blocks.

The methods of `Path` raise PermissionError for a path in a directory that may not be entered.
"""

import os
import stat
from pathlib import Path


def is_directory(path: Path) -> bool:
    """Return whether a path is a directory, or a link to one."""
    return stat.S_ISDIR(_mode(path))


def is_regular_file(path: Path) -> bool:
    """Return whether a path is a regular file, or a link to one."""
    return stat.S_ISREG(_mode(path))


def exists(path: Path) -> bool:
    """Return whether a path exists; a dangling link does not."""
    return bool(_mode(path))


def is_link(path: Path) -> bool:
    """Return whether a path is a symlink."""
    return stat.S_ISLNK(_mode(path, follows=False))


def is_permitted(path: Path, mode: int) -> bool:
    """Return whether the system lets this process read (`os.R_OK`) or enter (`os.X_OK`) a path."""
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _mode(path: Path, *, follows: bool = True) -> int:
    try:
        return os.stat(path, follow_symlinks=follows).st_mode  # noqa: PTH116  a quarter of the time
    except (OSError, ValueError):
        return 0
