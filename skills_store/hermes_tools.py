"""Names of Hermes' tools and toolsets in skills: what does their work here, if anything does.

A skill that needs such a tool is shown all the same: most of its text helps without it.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import cast

MISSING = "no such tool here: do without it, or tell the user what is missing"


@dataclass(frozen=True, slots=True)
class HermesTools:
    """The table of names."""

    mapped: Mapping[str, str]
    missing: Sequence[str]
    toolsets: Mapping[str, str]
    missing_toolsets: Sequence[str]

    def own_tool(self, name: str) -> str:
        """Return our tool for a name of Hermes; the name itself if it is none of these."""
        return self.mapped.get(name, name)

    def own_toolset(self, name: str) -> str:
        """Return our toolset for a name of Hermes; the name itself if it is none of these."""
        return self.toolsets.get(name, name)

    def is_missing(self, kind: str, name: str) -> bool:
        """Return whether it is a tool or toolset of Hermes whose work nothing here does."""
        names = self.missing if kind == "tool" else self.missing_toolsets
        return any(fnmatchcase(name, pattern) for pattern in names)


@cache
def hermes_tools() -> HermesTools:
    """Return the table."""
    import tomllib  # slow to import, and only needed with skills that name such tools

    text = Path(__file__).with_name("hermes_tools.toml").read_text("utf-8")
    tables = cast("Mapping[str, Mapping[str, object]]", tomllib.loads(text))
    return HermesTools(
        cast("Mapping[str, str]", tables["mapped"]),
        cast("Sequence[str]", tables["missing"]["names"]),
        cast("Mapping[str, str]", tables["toolsets"]),
        cast("Sequence[str]", tables["missing_toolsets"]["names"]),
    )


def describe_tools(
    text: str, declared: Sequence[str], available: Set[str] | None
) -> Mapping[str, str]:
    """Return notes on tools of Hermes that a skill declares or mentions, by name.

    >>> describe_tools("Call `web_extract`.", ["browser_click"], {"web_fetch"})["web_extract"]
    'use web_fetch'
    """
    table = hermes_tools()
    words = set(text.replace("`", " ").replace("(", " ").split()) | set(declared)
    names = {each.strip(".,:;)\"'") for each in words}
    notes: dict[str, str] = {}
    for name in sorted(names - (available or frozenset())):
        own = table.own_tool(name)
        if own != name and (available is None or own in available):
            notes[name] = f"use {own}"
        elif own != name or ("_" in name and table.is_missing("tool", name)):
            notes[name] = MISSING
    return notes
