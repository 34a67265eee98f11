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
    looked_at = 0
    for part in pattern.parts[1:]:
        if _MAGIC.isdisjoint(part):
            found = [folder / part for folder in found]
            continue
        following: list[Path] = []
        for folder in found:
            names = _names(folder)
            looked_at += len(names)
            # Bounded: `/*/*/*` would read the whole disk before the user is even asked.
            if looked_at > max_entries:
                raise TooManyEntriesError
            following += (folder / name for name in names if _matches_part(part, name))
        found = following
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
    wide = _SET.sub("?", part)
    # An unclosed or nested set: shells disagree, so everything after it matches.
    if "[" in wide:
        wide = wide.partition("[")[0] + "*"
    return fnmatchcase(name.casefold(), wide.casefold())
