"""Input of the guard: a skill's files and the other entries of its directory. Does no I/O."""

from collections.abc import Mapping
from dataclasses import dataclass

MAX_FILES = 50
MAX_BYTES = 1024 * 1024
"""Of all files together. More is reported as a finding; the files are scanned nevertheless."""


@dataclass(frozen=True, slots=True)
class SkillContents:
    """Contents of a skill as bytes. Paths are relative to its directory and use slashes."""

    files: Mapping[str, bytes]
    executables: frozenset[str] = frozenset()
    """Paths of files with an execute bit."""
    outside_links: tuple[str, ...] = ()
    """Links that lead out of the directory, or are broken."""
    special_files: tuple[str, ...] = ()
    """Entries that are neither file nor directory: pipes, sockets, devices."""
    unread_paths: tuple[str, ...] = ()
    """Unreadable entries, and those beyond the limits; directories end with `/`."""
