"""What a shell's pattern picks, seen from the disk: rather too much than too little.

Shells differ in how they read sets, in whether `.*` picks `..`, and in whether case counts; here
the widest reading holds. Blocks; bounded.
"""

import os
import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

_MAGIC = frozenset("*?[")
_SET = re.compile(r"\[[!^]?\]?[^\[\]\\]*\]")


class TooManyError(Exception):
    """There is more than can be looked through."""


def picked(pattern: Path, most_entries: int) -> Sequence[Path]:
    """Return the paths that an absolute pattern picks now; with `..` where it may pick that.

    Raises:
        TooManyError: that means looking at more than so many entries.
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
            if looked_at > most_entries:
                raise TooManyError
            following += (folder / name for name in names if _picks(part, name))
        found = following
    return [path for path in found if os.path.lexists(path)]


def _names(folder: Path) -> Sequence[str]:
    try:
        return (".", "..", *(each.name for each in folder.iterdir()))
    except OSError:  # the shell cannot look into it either
        return ()


def _picks(part: str, name: str) -> bool:
    """Whether a part of a pattern may pick a name; a set of characters may be any."""
    is_dot_named = part.startswith("[") and "." in part and name not in {".", ".."}
    if name.startswith(".") and not part.startswith(".") and not is_dot_named:
        return False
    wide = _SET.sub("?", part)
    if "[" in wide:
        wide = wide.partition("[")[0] + "*"
    return fnmatchcase(name.casefold(), wide.casefold())
