"""Expands shell patterns against the disk: rather too many paths than too few.

Shells differ in how they read sets, whether `.*` matches `..`, and whether case counts; the widest
reading is used here. Blocks; bounded.
"""

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

_MAGIC = frozenset("*?[")
_SET = re.compile(r"\[[!^]?\]?[^\[\]\\]*\]")


class TooManyEntriesError(Exception):
    """There are more entries than can be checked."""


def expand_glob(pattern: Path, max_entries: int) -> Sequence[Path]:
    """Return the paths that an absolute pattern matches now; with `..` where it may match that.

    Raises:
        TooManyEntriesError: more than `max_entries` entries would have to be checked.
    """
    found = [Path(pattern.anchor)]
    entry_count = 0
    for part in pattern.parts[1:]:
        if _MAGIC.isdisjoint(part):
            found = [folder / part for folder in found]
            continue
        next_paths: list[Path] = []
        for folder in found:
            names = _names(folder)
            entry_count += len(names)
            # Bounded: `/*/*/*` would read the whole disk before the user is even asked.
            if entry_count > max_entries:
                raise TooManyEntriesError
            next_paths += (folder / name for name in names if _matches_part(part, name))
        found = next_paths
    # `lexists` keeps dangling links, through which a command can create their target.
    return [path for path in found if os.path.lexists(path)]


def _names(folder: Path) -> Sequence[str]:
    try:
        return (".", "..", *(each.name for each in folder.iterdir()))
    except OSError:  # not readable for the shell either
        return ()


def _matches_part(part: str, name: str) -> bool:
    """Return whether one part of a pattern may match a name; a set matches any character."""
    is_dot_named = part.startswith("[") and "." in part and name not in {".", ".."}
    if name.startswith(".") and not part.startswith(".") and not is_dot_named:
        return False
    widened = _SET.sub("?", part)
    # An unclosed or nested set: shells disagree, so everything after it matches.
    if "[" in widened:
        widened = widened.partition("[")[0] + "*"
    return fnmatchcase(name.casefold(), widened.casefold())
