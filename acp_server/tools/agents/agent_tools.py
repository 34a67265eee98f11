"""The tools of an agent, which its definition names as other agents name them. Pure.

A name never gives more than it means: what has no counterpart here, or only a wider one, is not
given and reported.
"""

import re
from collections.abc import Collection, Iterator
from fnmatch import fnmatchcase

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.subagents.agent import ToolSelection
from acp_server.subagents.toolsets import MCP_SEPARATOR, WITHHELD
from acp_server.tools.dialects.names import find_tool
from acp_server.tools.dialects.table import alias_table, squash

_FOREIGN_SERVER = "mcp__"
_NOT_IN_SERVER_NAMES = re.compile(r"[^a-zA-Z0-9_-]")
_TOGETHER = (
    frozenset({"read_file", "search_files"}),
    frozenset({"write_file", "patch"}),
    frozenset({"terminal", "process"}),
)
"""Tools of which each could do what a narrower tool of another agent does."""
_COMPANIONS = {"terminal": "process", "skill_view": "skills_list"}
"""What belongs to a tool: background commands are polled by `process`."""
_NARROW = frozenset(
    {
        *("notebookedit", "notebookeditcell", "editnotebook", "editnotebookcell"),
        *("editnotebookfile", "deletefile", "removefile", "createfile", "newfile"),
    }
)
"""Names of tools that can do less than ours of the same kind, besides those of the table."""
NOT_HERE = "there is no such tool here"
ONLY_WHOLE = "only whole tools can be given"
TOO_WIDE = "the tool that does this here can do more"
NEVER = "sub-agents never have it"


@frozen_dataclass
class AgentTools:
    """The tools that an agent gets."""

    names: frozenset[str]
    not_given: tuple[str, ...] = ()
    """The names in the definition that gave nothing, each with the reason."""


def select_tools(selection: ToolSelection, available: Collection[str]) -> AgentTools:
    """Return the available tools that a definition names."""
    usable = frozenset(available) - WITHHELD
    names, not_given = usable, list[str]()
    if selection.allowed is not None:
        names, not_given = _allowed_tools(selection.allowed, available)
    for name in selection.denied:
        names -= {
            tool for each in _denied_tools(name, usable) for tool in (each, *_companion(each))
        }
    return AgentTools(names & usable, tuple(not_given))


def describe_tools(tools: AgentTools, available: Collection[str]) -> str:
    """Return the tools of an agent for the user, with those that it is not given."""
    is_all = tools.names == frozenset(available) - WITHHELD
    names = "all tools" if is_all else ", ".join(sorted(tools.names)) or "no tools"
    more = f"; not given: {', '.join(tools.not_given)}" if tools.not_given else ""
    return f"{names}{more}"


def _allowed_tools(
    allowed: Collection[str], available: Collection[str]
) -> tuple[frozenset[str], list[str]]:
    names: set[str] = set()
    not_given: list[str] = []
    narrow: dict[str, str] = {}
    for name in allowed:
        found = frozenset(_tools_meant(name, available))
        own = next(iter(found), "")
        if not found:
            not_given.append(f"`{name}` ({ONLY_WHOLE if '(' in name else _reason(name)})")
        elif found <= WITHHELD:
            not_given.append(f"`{name}` ({NEVER})")
        elif own != name and _is_narrow(name):
            narrow[name] = own
        else:
            names |= found
            names.update(tool for each in found for tool in _companion(each))
    for name, own in narrow.items():
        # With a tool of the same kind it can do nothing that the agent could not do anyway.
        group = next((each for each in _TOGETHER if own in each), frozenset[str]())
        if names & group:
            names.add(own)
        else:
            not_given.append(f"`{name}` ({TOO_WIDE})")
    return frozenset(names), not_given


def _tools_meant(name: str, available: Collection[str]) -> Iterator[str]:
    """Yield the available tools that a name or a pattern means."""
    if name in available:
        yield name
    elif name.startswith(_FOREIGN_SERVER):
        server, _, tool = name.removeprefix(_FOREIGN_SERVER).partition(MCP_SEPARATOR)
        prefix = f"{_NOT_IN_SERVER_NAMES.sub('_', server)}{MCP_SEPARATOR}"
        wanted = f"{prefix}{tool or '*'}"
        yield from (each for each in available if fnmatchcase(each, wanted))
    elif "*" in name:
        # `server_*`: so opencode names the tools of a server.
        forms = ((each, each.replace(MCP_SEPARATOR, "_")) for each in available)
        yield from (
            each for each, other in forms if fnmatchcase(each, name) or fnmatchcase(other, name)
        )
    elif "(" not in name:
        meant = find_tool(name, available)
        if meant.name in available or meant.name in WITHHELD:
            yield meant.name


def _denied_tools(name: str, available: Collection[str]) -> Iterator[str]:
    """Yield the tools that a denied name means; one for some uses of a tool means all of it."""
    yield from _tools_meant(name.partition("(")[0].strip(), available)
    if squash(name) == "edit":  # opencode's name for every change of a file
        yield from ("write_file", "patch")


def _companion(tool: str) -> Collection[str]:
    return (_COMPANIONS[tool],) if tool in _COMPANIONS else ()


def _is_narrow(name: str) -> bool:
    key = squash(name)
    return key in alias_table().implied or key in _NARROW


def _reason(name: str) -> str:
    return alias_table().advice.get(squash(name), NOT_HERE)
