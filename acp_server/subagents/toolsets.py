"""Which tools a task may have: those of its toolsets, except some that are always withheld."""

from collections.abc import Collection, Sequence

from skills_store.visibility import TOOLSETS

ALLOWED_SETS = ("file", "terminal", "web", "skills", "session_search", "todo")
"""The toolsets that a task may have."""
WITHHELD = frozenset({"clarify", "exit_plan", "memory", "skill_manage", "delegate_task"})
"""Tools that no task has: questions to the user, lasting changes, further delegation."""
SERVER_SET = "mcp-"
MCP_SEPARATOR = "__"
"""Separates server and tool in the name of an MCP tool."""
UNKNOWN_TOOLSET = "there is no toolset {name!r} for a task; there are {known}"


class UnknownToolsetError(ValueError):
    """The toolset does not exist or is not available to tasks; the text lists those that are."""


def tools_for(requested: Sequence[str], available: Sequence[str]) -> frozenset[str]:
    """Return the available tools of some toolsets, or of all if none is named.

    Raises:
        UnknownToolsetError: one of the toolsets is not available.
    """
    sets = _sets(available)
    for name in requested:
        if name not in sets:
            raise UnknownToolsetError(UNKNOWN_TOOLSET.format(name=name, known=", ".join(sets)))
    # Subtracted last, so that no toolset can bring a withheld tool back.
    return frozenset(tool for name in requested or sets for tool in sets[name]) - WITHHELD


def _sets(available: Sequence[str]) -> dict[str, Collection[str]]:
    """Return the toolsets that have an available tool, by name."""
    sets: dict[str, Collection[str]] = {}
    for name in ALLOWED_SETS:
        found = TOOLSETS[name] & frozenset(available)
        if found:
            sets[name] = found
    for server in dict.fromkeys(_server_of(tool) for tool in available):
        if server:
            sets[f"{SERVER_SET}{server}"] = [t for t in available if _server_of(t) == server]
    return sets


def _server_of(tool: str) -> str:
    """Return the MCP server of a tool; empty for a built-in one."""
    server, separator, _ = tool.partition(MCP_SEPARATOR)
    return server if separator else ""
