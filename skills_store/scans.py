"""What a look at a root found, and whether it still holds. Knows how to compare, not how to look.

The manifest has every folder that was looked into and every file that was read, each with its
stamp. As long as all of them are what they were, another look would find the same.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skills_store.reading import Stamp, stamp_of
from skills_store.skill import CATEGORY_FILE, SKILL_FILE, LoadProblem, Root, Skill

ABSENT: Stamp = (0, 0)
UNSETTLED: Stamp = (-1, -1)
"""Of what could not be read, or changed a moment ago: it must be looked at again."""

_FILES = frozenset({SKILL_FILE, CATEGORY_FILE})
_SETTLING_NANOSECONDS = 100_000_000  # a clock of files may tick this slowly

# A path object for each of thousands of names would cost more than the call.
status_of: Callable[[str], os.stat_result] = os.stat


@dataclass(frozen=True, slots=True)
class Scan:
    """What was found in one root."""

    root: Root
    skills: tuple[Skill, ...] = ()
    """In the order of category and name; names may be double."""
    category_descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: tuple[LoadProblem, ...] = ()
    manifest: Mapping[str, Stamp] = field(default_factory=dict[str, Stamp])

    def holds(self) -> bool:
        """Whether nothing changed since: one system call for each entry of the manifest."""
        return all(_is_still(stamp, path) for path, stamp in self.manifest.items())

    def places(self) -> Iterator[Path]:
        """Yield where a change would have to be noticed: the root, and what its links lead to."""
        yield self.root.path
        yield from (Path(path).resolve() for path in self.manifest if Path(path).is_symlink())

    def folders(self) -> Iterator[Path]:
        """Yield each folder that was looked into, and those that linked files are in."""
        for path in map(Path, self.manifest):
            if path.name not in _FILES:
                yield path
            elif path.is_symlink():
                yield path.resolve().parent


def settled(status: os.stat_result) -> Stamp:
    """Return a stamp to compare with later.

    A file that changed within one tick of the clock could change again and keep its stamp.
    """
    is_fresh = abs(time.time_ns() - status.st_mtime_ns) < _SETTLING_NANOSECONDS
    return UNSETTLED if is_fresh else stamp_of(status)


def _is_still(stamp: Stamp, path: str) -> bool:
    try:
        return stamp == stamp_of(status_of(path))
    except (FileNotFoundError, NotADirectoryError):
        return stamp == ABSENT
    except OSError:
        return False
