"""Finds the tool that is meant by a name. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.dialects.table import alias_table, squash

_PREFIX = re.compile(r"^\s*(?:functions?|tools?|default_api|mcp_)[.:_/]+(?=.)", re.IGNORECASE)
_SUFFIX = re.compile(r"(?:<\|.*|[:#]\d+|\(\)?)$", re.DOTALL)
MAX_NEAREST = 3
MAX_NAME_CHARACTERS = 200


@frozen_dataclass
class ToolMeant:
    """The tool that a name means."""

    name: str
    """Our name; the given one if it is unknown; empty if the arguments decide."""
    alias: str = ""
    """The squashed name under which it was found; empty if it is the tool's own name."""

    @property
    def implied(self) -> Mapping[str, str]:
        """Arguments that the name says by itself."""
        return alias_table().implied.get(self.alias, {}) if self.alias else {}

    @property
    def gives_milliseconds(self) -> bool:
        """Whether agents that have this name give times in milliseconds."""
        return bool(self.alias) and self.alias in alias_table().milliseconds


def find_tool(name: str, known: Collection[str]) -> ToolMeant:
    """Return the tool that a name means; an exact name always means itself."""
    if name in known or len(name) > MAX_NAME_CHARACTERS:
        return ToolMeant(name)
    bare = _SUFFIX.sub("", _PREFIX.sub("", name.strip(), count=1)).strip()
    if bare in known:
        return ToolMeant(bare)
    key = squash(bare)
    same = [each for each in known if squash(each) == key] if key else []
    if len(same) == 1:
        return ToolMeant(same[0])
    table = alias_table()
    if key in table.command_names:
        return ToolMeant("", key)
    own = table.tools.get(key)
    return ToolMeant(name) if own is None else ToolMeant(own, key)


def describe_unknown_tool(name: str, known: Sequence[str]) -> str:
    """Return the error that there is no such tool, with what to do instead first."""
    text = f"there is no tool {name!r}"
    table, key = alias_table(), squash(_PREFIX.sub("", name, count=1))
    advice = table.advice.get(key, "")
    nearest = get_close_matches(name.lower(), known, n=MAX_NEAREST, cutoff=0.5)
    if not nearest:  # a misspelt name of another agent's tool
        aliases = [alias for alias, tool in table.tools.items() if tool in known]
        close = get_close_matches(key, aliases, n=MAX_NEAREST, cutoff=0.75)
        nearest = list(dict.fromkeys(table.tools[alias] for alias in close))
    hint = advice or (f"the nearest is {' or '.join(nearest)}" if nearest else "")
    return "; ".join(filter(None, (text, hint, f"there are {', '.join(known)}" if known else "")))
