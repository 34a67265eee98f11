"""Paths of this server's own installation, which no confined command may write.

Whoever can change them runs code outside the sandbox, at the latest when the server starts again.
They can be in a writable directory: in the workspace of a project that develops this server or
depends on it, in the home directory opened as a workspace, or in a cache of package managers.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass

_PACKAGES = ("acp_server", "prompt_engine", "skills_store", "editors")
_PARTS_OF_ENVIRONMENT = ("bin", "lib", "lib64", "include", "pyvenv.cfg")


@frozen_dataclass
class Installation:
    """Paths that the running server is loaded from, symlinks resolved."""

    files: tuple[Path, ...]
    """Never writable, even if the workspace is inside."""
    directories: tuple[Path, ...]
    """Not writable unless a writable directory is inside, such as a workspace in an environment."""

    def protected_paths(self, writable: Sequence[Path], hidden: Sequence[Path]) -> tuple[Path, ...]:
        """Return the paths that would be writable with these limits, outermost paths only."""
        directories = (
            path
            for path in self.directories
            if not any(other.is_relative_to(path) for other in writable)
        )
        found: list[Path] = []
        for path in sorted({*self.files, *directories}):
            is_covered = any(path.is_relative_to(other) for other in found)
            if not is_covered and _is_writable(path, writable, hidden):
                found.append(path)
        return tuple(found)

    def is_inside(self, path: Path) -> bool:
        """Return whether a path is one of the files, or inside one of them."""
        return any(path.is_relative_to(file) for file in self.files)


@cache
def running_installation() -> Installation:
    """Return the installation of this process. Blocks at its first call."""
    source = Path(__file__).parents[4]
    environments = [Path(prefix) for prefix in (sys.prefix, sys.base_prefix)]
    parts = (folder / name for folder in environments for name in _PARTS_OF_ENVIRONMENT)
    # An editable installation puts the directory of its project on the path; a relative entry
    # is no installation.
    imported = (Path(entry) for entry in sys.path if entry.startswith(os.sep))
    return Installation(
        _resolve_existing((*(source / name for name in _PACKAGES), *parts)),
        _resolve_existing((*environments, *imported)),
    )


def _is_writable(path: Path, writable: Sequence[Path], hidden: Sequence[Path]) -> bool:
    """Return whether the nearest limit around a path lets it be written."""
    around = [each for each in (*writable, *hidden) if path.is_relative_to(each)]
    nearest = max(around, key=lambda each: len(each.parts), default=None)
    return nearest is not None and nearest not in hidden


def _resolve_existing(paths: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(dict.fromkeys(path.resolve() for path in paths if path.exists()))
