"""What the guard looks at: the files of a skill, and what else its folder holds. Reads no disk."""

from collections.abc import Mapping
from dataclasses import dataclass

MOST_FILES = 50
MOST_BYTES = 1024 * 1024
"""Of all files together; more is a finding, not a reason not to look."""


@dataclass(frozen=True, slots=True)
class Contents:
    """A skill as bytes. Paths are relative to its folder and use slashes."""

    files: Mapping[str, bytes]
    executables: frozenset[str] = frozenset()
    """Which of the files may be run."""
    escapes: tuple[str, ...] = ()
    """Links that lead out of the folder, or nowhere."""
    specials: tuple[str, ...] = ()
    """What is neither file nor folder: pipes, sockets, devices."""
    unread: tuple[str, ...] = ()
    """What could not be read, or was more than a skill may hold; `/` ends a folder."""
