"""Result of scanning a root, and the check whether it is still current.

The manifest maps each scanned directory and each read file to its stamp. While all stamps match,
another scan would give the same result.
"""

import os
import time
from collections.abc import Callable, Iterator, Mapping, Set
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
    linked_files: Set[str] = frozenset()
    """The files of the manifest that are symlinks. A file cannot become one, or no longer be one,
    without a change of its directory, which the manifest has too."""

    def is_current(self) -> bool:
        """Return whether nothing changed since the scan: one `stat` per manifest entry."""
        status, absent = status_of, ABSENT
        for path, stamp in self.manifest.items():
            try:
                found = status(path)
            except (FileNotFoundError, NotADirectoryError):
                if stamp != absent:
                    return False
            except OSError:
                return False
            else:
                if stamp != stamp_of(found):
                    return False
        return True

    def directories(self) -> Iterator[tuple[Path, bool]]:
        """Yield each scanned directory, and whether it was there."""
        for path, stamp in self.manifest.items():
            if path.rpartition(os.sep)[2] not in _FILES:
                yield Path(path), stamp not in {ABSENT, UNSETTLED}

    def link_targets(self) -> Iterator[Path]:
        """Yield the directories of the files that symlinks lead to. Blocks."""
        for path in sorted(self.linked_files):
            yield Path(path).resolve().parent


def settled_stamp(status: os.stat_result) -> Stamp:
    """Return a stamp for later comparison, or UNSETTLED for a very recent change.

    A file that changed within one tick of the file system's clock could change again with the same
    stamp.
    """
    is_fresh = abs(time.time_ns() - status.st_mtime_ns) < _SETTLING_NANOSECONDS
    return UNSETTLED if is_fresh else stamp_of(status)
