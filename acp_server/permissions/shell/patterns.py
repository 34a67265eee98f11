"""Glob patterns: their literal parent directory, and whether they could match a name.

Uses the text only and answers yes in doubt: the disk may change before the command runs.
"""

import re
from fnmatch import fnmatchcase

_WILDCARD = re.compile(r"[*?\[]")


def pattern_root(pattern: str) -> str:
    """Return the directory before the first wildcard of an absolute glob."""
    first = _WILDCARD.search(pattern)
    literal = pattern if first is None else pattern[: first.start()]
    return literal.rpartition("/")[0] or "/"


def escape_pattern(text: str) -> str:
    """Return text with its wildcards escaped."""
    return _WILDCARD.sub(lambda found: f"[{found.group()}]", text)


def could_match_name(pattern: str, name: str) -> bool:
    """Return whether a part of an absolute glob could match a file or directory `name`.

    As in bash, wildcards do not match a leading dot. Case is ignored, for file systems that ignore
    it.
    """
    return any(_part_could_match(part, name.casefold()) for part in pattern.casefold().split("/"))


def _part_could_match(part: str, name: str) -> bool:
    if name.startswith(".") and part[:1] in {"*", "?"}:
        return False
    if part.startswith("[") and name.startswith(".") and "." not in part:
        return False
    # Dialects of sets differ too much: from a `[` on, the pattern counts as matching anything.
    literal, has_set, _ = part.partition("[")
    return fnmatchcase(name, literal + "*" if has_set else part)
