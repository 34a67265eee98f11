"""Result of scanning a root, and the check whether it is still current.

The manifest maps each scanned directory and each read file to its stamp. While all stamps match,
another scan would give the same result.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skills_store.reading import Stamp, stamp_of
from skills_store.skill import CATEGORY_FILE, SKILL_FILE, LoadProblem, Skill, SkillRoot

ABSENT: Stamp = (0, 0)
UNSETTLED: Stamp = (-1, -1)
"""Stamp of a file that was unreadable or changed a moment ago; it never matches."""

_FILES = frozenset({SKILL_FILE, CATEGORY_FILE})
_SETTLING_NANOSECONDS = 100_000_000  # slowest tick of a file system's clock that is allowed for

# Takes str: a Path object for each of thousands of names would cost more than the call.
status_of: Callable[[str], os.stat_result] = os.stat


@dataclass(frozen=True, slots=True)
class RootScan:
    """Skills and problems found in one root."""

    root: SkillRoot
    skills: tuple[Skill, ...] = ()
    """Ordered by category and name; names may repeat."""
    category_descriptions: Mapping[str, str] = field(default_factory=dict[str, str])
    problems: tuple[LoadProblem, ...] = ()
    manifest: Mapping[str, Stamp] = field(default_factory=dict[str, Stamp])

    def is_current(self) -> bool:
        """Return whether nothing changed since the scan: one `stat` per manifest entry."""
        return all(_is_unchanged(stamp, path) for path, stamp in self.manifest.items())

    def watch_directories(self) -> Iterator[Path]:
        """Yield each scanned directory, and the directories of symlinked files."""
        for path in map(Path, self.manifest):
            if path.name not in _FILES:
                yield path
            elif path.is_symlink():
                yield path.resolve().parent


def settled_stamp(status: os.stat_result) -> Stamp:
    """Return a stamp for later comparison, or UNSETTLED for a very recent change.

    A file that changed within one tick of the file system's clock could change again with the same
    stamp.
    """
    is_fresh = abs(time.time_ns() - status.st_mtime_ns) < _SETTLING_NANOSECONDS
    return UNSETTLED if is_fresh else stamp_of(status)


def _is_unchanged(stamp: Stamp, path: str) -> bool:
    try:
        return stamp == stamp_of(status_of(path))
    except (FileNotFoundError, NotADirectoryError):
        return stamp == ABSENT
    except OSError:
        return False
