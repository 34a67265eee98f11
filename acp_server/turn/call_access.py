"""What a tool call may do, as far as it can be told before it runs, and the order that follows.

The calls of one reply are run in groups, one group after the other. Calls that only read share a
group, edits of different files do, and so do calls that are independent of each other, such as
tasks of sub-agents. Any other call that may change something has a group to itself: a commit must
not start before the files are staged, and a file is read after the edit that precedes the read.
"""

import os
from collections.abc import Sequence
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass

AccessKind = Literal["reads", "edits", "independent", "changes"]


@frozen_dataclass
class CallAccess:
    """What a call may do.

    reads: it changes nothing. edits: it changes the files `paths` only. independent: it may change
    anything, but several such calls may run at the same time. changes: it may change anything.
    """

    kind: AccessKind
    paths: frozenset[str] = frozenset()
    """Absolute paths of the files that an edit changes."""
    is_polling: bool = False
    """Whether it waits for something or asks for news, so that repeating it makes sense."""


READS = CallAccess("reads")
CHANGES = CallAccess("changes")


def group_calls(accesses: Sequence[CallAccess]) -> list[range]:
    """Return the groups of a batch as ranges of indexes, in the order in which they are to run.

    >>> group_calls([READS, READS, CHANGES, READS])
    [range(0, 2), range(2, 3), range(3, 4)]
    """
    groups: list[range] = []
    paths: set[str] = set()  # of the edits in the last group
    for index, access in enumerate(accesses):
        if index and access.kind == accesses[index - 1].kind and _can_join(access, paths):
            groups[-1] = range(groups[-1].start, index + 1)
        else:
            groups.append(range(index, index + 1))
            paths.clear()
        paths |= access.paths
    return groups


def _can_join(access: CallAccess, paths: set[str]) -> bool:
    """Whether a call can run together with calls of its kind that change the files `paths`."""
    if access.kind == "changes":
        return False
    return not any(_is_related(one, other) for one in access.paths for other in paths)


def _is_related(one: str, other: str) -> bool:
    """Whether two paths are the same, or one is a directory that the other is in."""
    return one == other or one.startswith(f"{other}{os.sep}") or other.startswith(f"{one}{os.sep}")
