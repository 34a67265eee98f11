"""Shell patterns: where one begins, and whether it could pick a given name.

Answers from the text alone and in doubt with yes: what lies on the disk may change before it runs.
"""

import re
from fnmatch import fnmatchcase

_MAGIC = re.compile(r"[*?\[]")


def root_of(pattern: str) -> str:
    """Return the folder that stands before the first pattern character of an absolute pattern."""
    first = _MAGIC.search(pattern)
    literal = pattern if first is None else pattern[: first.start()]
    return literal.rpartition("/")[0] or "/"


def escape(text: str) -> str:
    """Return text so that a pattern takes it literally."""
    return _MAGIC.sub(lambda found: f"[{found.group()}]", text)


def could_name(pattern: str, name: str) -> bool:
    """Whether one part of an absolute pattern could pick a file or folder called `name`.

    As in bash a leading dot is matched by a dot only; case is ignored, for disks that do.
    """
    return any(_part_could_name(part, name.casefold()) for part in pattern.casefold().split("/"))


def _part_could_name(part: str, name: str) -> bool:
    if name.startswith(".") and part[:1] in {"*", "?"}:
        return False
    if part.startswith("[") and name.startswith(".") and "." not in part:
        return False
    return fnmatchcase(name, _without_sets(part))


def _without_sets(part: str) -> str:
    """Return a wider pattern: from a `[` on, anything. How sets are read differs too much."""
    return part.partition("[")[0] + "*" if "[" in part else part
