"""Glob patterns: their literal parent directory, and whether they could match a name.

Uses the text only and answers yes in doubt: the disk may change before the command runs.
"""

import re
from fnmatch import fnmatchcase

_MAGIC = re.compile(r"[*?\[]")


def root_of(pattern: str) -> str:
    """Return the directory before the first wildcard of an absolute glob."""
    first = _MAGIC.search(pattern)
    literal = pattern if first is None else pattern[: first.start()]
    return literal.rpartition("/")[0] or "/"


def escape(text: str) -> str:
    """Return text with its wildcards escaped."""
    return _MAGIC.sub(lambda found: f"[{found.group()}]", text)


def could_name(pattern: str, name: str) -> bool:
    """Return whether a part of an absolute glob could match a file or directory `name`.

    As in bash, wildcards do not match a leading dot. Case is ignored, for file systems that ignore
    it.
    """
    return any(_part_could_name(part, name.casefold()) for part in pattern.casefold().split("/"))


def _part_could_name(part: str, name: str) -> bool:
    if name.startswith(".") and part[:1] in {"*", "?"}:
        return False
    if part.startswith("[") and name.startswith(".") and "." not in part:
        return False
    return fnmatchcase(name, _without_sets(part))


def _without_sets(part: str) -> str:
    """Return a wider pattern: from a `[` on, anything. Dialects of sets differ too much."""
    return part.partition("[")[0] + "*" if "[" in part else part
