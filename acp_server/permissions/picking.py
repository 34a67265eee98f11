"""What a shell's pattern picks, seen from the disk: rather too much than too little.

Shells differ in how they read sets, in whether `.*` picks `..`, and in whether case counts; here
the widest reading holds. Blocks; bounded.
"""

import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

_MAGIC = frozenset("*?[")


class TooManyError(Exception):
    """There is more than can be looked through."""


def picked(pattern: Path, most_entries: int) -> Sequence[Path]:
    """Return the paths that an absolute pattern picks now; with `..` where it may pick that.

    Raises:
        TooManyError: that means looking at more than so many entries.
    """
    found = [pattern.anchor]
    looked_at = 0
    for part in pattern.parts[1:]:
        if _MAGIC.isdisjoint(part):
            found = [os.path.join(folder, part) for folder in found]
            continue
        following: list[str] = []
        for folder in found:
            for name in _names(folder):
                looked_at += 1
                if looked_at > most_entries:
                    raise TooManyError
                if _picks(part, name):
                    following.append(os.path.join(folder, name))
        found = following
    return [Path(path) for path in found if os.path.lexists(path)]


def _names(folder: str) -> Iterator[str]:
    yield from (".", "..")
    try:
        with os.scandir(folder) as entries:
            yield from (entry.name for entry in entries)
    except OSError:  # the shell cannot look into it either
        return


def _picks(part: str, name: str) -> bool:
    """Whether a part of a pattern may pick a name; what is behind a `[` may be anything."""
    if name.startswith(".") and not part.startswith((".", "[")):
        return False
    wide = part.partition("[")[0] + "*" if "[" in part else part
    return fnmatchcase(name.casefold(), wide.casefold())
