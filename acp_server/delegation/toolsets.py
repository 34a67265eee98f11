"""Which tools a task may have: those of the sets that it is given, and never some others."""

from collections.abc import Collection, Sequence

from skills_store.visibility import TOOLSETS

OPEN_SETS = ("file", "terminal", "web", "skills", "session_search", "todo")
"""The sets that a task may have."""
WITHHELD = frozenset({"clarify", "exit_plan", "memory", "skill_manage", "delegate_task"})
"""What no task has: questions to the user, what lasts beyond the session, further tasks."""
SERVER_SET = "mcp-"
SERVER_TOOL = "__"
"""Stands between a server and its tool in the tool's name."""
UNKNOWN = "there is no toolset {name!r} for a task; there are {known}"


class UnknownToolsetError(ValueError):
    """There is no such set, or none that a task may have; the text names those that there are."""


def tools_for(wanted: Sequence[str], present: Sequence[str]) -> frozenset[str]:
    """Return the tools of some sets, of all if none is named, as far as they are present.

    Raises:
        UnknownToolsetError: one of the sets is not to be had.
    """
    sets = _sets(present)
    for name in wanted:
        if name not in sets:
            raise UnknownToolsetError(UNKNOWN.format(name=name, known=", ".join(sets)))
    return frozenset(tool for name in wanted or sets for tool in sets[name]) - WITHHELD


def _sets(present: Sequence[str]) -> dict[str, Collection[str]]:
    """Return the sets of which something is present, by name."""
    sets: dict[str, Collection[str]] = {}
    for name in OPEN_SETS:
        found = TOOLSETS[name] & frozenset(present)
        if found:
            sets[name] = found
    for server in dict.fromkeys(_server_of(tool) for tool in present):
        if server:
            sets[f"{SERVER_SET}{server}"] = [t for t in present if _server_of(t) == server]
    return sets


def _server_of(tool: str) -> str:
    """Return the server whose tool this is; empty for one of ours."""
    server, separator, _ = tool.partition(SERVER_TOOL)
    return server if separator else ""
