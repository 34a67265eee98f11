"""Decide which skills a session sees: one predicate for the index, list, view and slash commands.

An unknown fact (None) hides nothing.
"""

import sys
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from skills_store import hermes_fields
from skills_store.hermes_tools import hermes_tools
from skills_store.skill import Skill

TOOLSETS: Mapping[str, frozenset[str]] = {
    "file": frozenset({"read_file", "write_file", "patch", "search_files", "symbols"}),
    "terminal": frozenset({"terminal", "process"}),
    "web": frozenset({"web_fetch"}),
    "skills": frozenset({"skills_list", "skill_view", "skill_manage"}),
    "memory": frozenset({"memory"}),
    "session_search": frozenset({"session_search"}),
    "todo": frozenset({"todo"}),
    "clarify": frozenset({"clarify"}),
    "delegation": frozenset({"delegate_task"}),
}
"""Tools of each toolset; a toolset is present if one of its tools is."""

KNOWN_ENVIRONMENTS: Mapping[str, tuple[str, ...]] = {
    "docker": ("/.dockerenv", "/run/.containerenv"),
    "s6": ("/run/s6", "/package/admin/s6-overlay"),
    "kanban": (),
}
"""Environments that skills of Hermes are for, with paths of which any shows that it is there; its
kanban board is never here. Unknown ones hide nothing."""

_DECIDING_FIELDS = frozenset(
    {
        *("environments", "platforms", "fallback_for_tools", "requires_tools"),
        *("fallback_for_toolsets", "requires_toolsets"),
    }
)
"""A skill with none of these fields is seen everywhere: most skills, which are decided fast."""

_PLATFORMS: Mapping[str, str] = {
    "darwin": "macos",
    "mac": "macos",
    "osx": "macos",
    "win32": "windows",
    "win": "windows",
    "cygwin": "windows",
}


@dataclass(frozen=True, slots=True)
class VisibilityFacts:
    """Facts about a session that decide which skills are visible. None means unknown."""

    platform: str | None = None
    """macos, linux or windows."""
    tools: frozenset[str] | None = None
    toolsets: frozenset[str] | None = None
    disabled: frozenset[str] = frozenset()
    """Names of skills that the user disabled, everywhere or on this platform."""
    environments: frozenset[str] | None = None
    """Which of `KNOWN_ENVIRONMENTS` this process runs in."""


def visibility_facts(
    tools: Set[str], servers: Iterable[str] = (), disabled: Iterable[str] = ()
) -> VisibilityFacts:
    """Return the facts of a session on this machine, from its tools and MCP servers."""
    toolsets = {name for name, members in TOOLSETS.items() if members & tools}
    toolsets |= {f"mcp-{server}" for server in servers}
    return VisibilityFacts(
        normalize_platform(sys.platform),
        frozenset(tools),
        frozenset(toolsets),
        frozenset(disabled),
        current_environments(),
    )


@cache
def current_environments() -> frozenset[str]:
    """Return the environments that this process runs in; they do not change while it does."""
    return frozenset(
        name
        for name, paths in KNOWN_ENVIRONMENTS.items()
        if any(Path(path).exists() for path in paths)
    )


def normalize_platform(name: str) -> str:
    """Return the name that skills use for a platform (macos, linux, windows), or the same name."""
    lower = name.strip().lower()
    return _PLATFORMS.get(lower, "linux" if lower.startswith("linux") else lower)


def is_visible(skill: Skill, facts: VisibilityFacts) -> bool:
    """Return whether a session sees a skill."""
    return reason_hidden(skill, facts) is None


def is_offered(skill: Skill, facts: VisibilityFacts) -> bool:
    """Return whether a skill is listed: visible, and for an environment that this process is in.

    A skill for another environment can be loaded by its name.
    """
    if not hermes_fields.has_any_field(skill.frontmatter, _DECIDING_FIELDS):
        return not _is_disabled(skill, facts)
    wanted = {each.lower() for each in hermes_fields.read_words(skill.frontmatter, "environments")}
    is_elsewhere = (
        bool(wanted)
        and facts.environments is not None
        and wanted <= KNOWN_ENVIRONMENTS.keys()
        and facts.environments.isdisjoint(wanted)
    )
    return not is_elsewhere and is_visible(skill, facts)


def reason_hidden(skill: Skill, facts: VisibilityFacts) -> str | None:
    """Return why a session does not see a skill, as half a sentence; None if it does."""
    if _is_disabled(skill, facts):
        return "it is disabled"
    platforms = {
        normalize_platform(each)
        for each in hermes_fields.read_words(skill.frontmatter, "platforms")
    }
    if platforms and facts.platform not in {None, *platforms}:
        return f"it is for {' and '.join(sorted(platforms))} only"
    return _reason_by_tools("tool", skill, facts.tools) or _reason_by_tools(
        "toolset", skill, facts.toolsets
    )


def _is_disabled(skill: Skill, facts: VisibilityFacts) -> bool:
    if not facts.disabled:
        return False
    names = (skill.name, skill.full_name, skill.qualified_name)
    return not facts.disabled.isdisjoint(names)


def _reason_by_tools(kind: str, skill: Skill, available: Set[str] | None) -> str | None:
    """Return why missing or present tools (or toolsets) hide a skill; None if they do not.

    A tool of Hermes that is missing here hides nothing: `skill_view` says so (`hermes_tools.py`).
    """
    if available is None:
        return None
    for name in hermes_fields.read_words(skill.frontmatter, f"fallback_for_{kind}s"):
        if _own_name(kind, name, available) in available:
            return f"it stands in for the {kind} {name}, which is there"
    for name in hermes_fields.read_words(skill.frontmatter, f"requires_{kind}s"):
        own = _own_name(kind, name, available)
        if own not in available and not hermes_tools().is_missing(kind, name):
            return f"it needs the {kind} {own}, which is not there"
    return None


def _own_name(kind: str, name: str, available: Set[str]) -> str:
    if name in available:
        return name
    table = hermes_tools()
    return table.own_tool(name) if kind == "tool" else table.own_toolset(name)
