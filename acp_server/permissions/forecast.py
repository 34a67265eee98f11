"""Predicts the gate's decision on a tool's calls in a mode, as a phrase; computed by the policy.

Based on the tool's name and the usual effect of its calls: rules, protected files and paths outside
the workspace may change the decision on an actual call.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import assert_never

from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import (
    Allow,
    Ask,
    CommandFacts,
    Facts,
    FetchFacts,
    FileFacts,
    McpToolFacts,
    MemoryFacts,
    PlanFacts,
    Refuse,
    SkillFacts,
    decide,
)
from acp_server.permissions.rules import RuleBook
from acp_server.permissions.scopes import McpToolScope, SiteScope
from acp_server.permissions.shell.findings import Assessment

_FILES = (Path("/workspace/file"),)
_READ = FileFacts("read", _FILES)
_WRITE = FileFacts("write", _FILES)
_RUN = CommandFacts("command", Assessment("asks", "It may do more than read"))
_CALL = McpToolFacts(
    McpToolScope("server", "", "tool"), read_only_hint=False, destructive_hint=False
)
_USUAL_FACTS: Mapping[str, Facts] = {
    "read_file": _READ,
    "search_files": _READ,
    "symbols": _READ,
    "write_file": _WRITE,
    "patch": _WRITE,
    "terminal": _RUN,
    "process": _RUN,
    "memory": MemoryFacts(asks_first=False),
    "skill_manage": SkillFacts(FileFacts("write", _FILES, outside=_FILES)),
    "web_fetch": FetchFacts(SiteScope("example.com")),
    "exit_plan": PlanFacts(),
}
"""Usual effect of a call by tool name; other tools have no effect that requires permission."""
MCP_SEPARATOR = "__"
"""Part of the name of every MCP server tool."""


def forecast(tool: str, mode: Mode) -> str:
    """Return the usual decision on a tool's calls in a mode.

    >>> forecast("write_file", "ask"), forecast("write_file", "accept_edits")
    ('asks first', 'allowed in the workspace')
    """
    facts = _USUAL_FACTS.get(tool, _CALL if MCP_SEPARATOR in tool else None)
    if facts is None:
        return "allowed"
    decision = decide(facts, mode, RuleBook())
    match decision:
        case Allow():
            is_bounded = isinstance(facts, FileFacts) and mode != "bypass"
            return "allowed in the workspace" if is_bounded else "allowed"
        case Ask():
            is_command = isinstance(facts, CommandFacts)
            return "asks first, unless it only reads" if is_command else "asks first"
        case Refuse():
            return "only for plan mode" if isinstance(facts, PlanFacts) else "refused"
        case _:
            assert_never(decision)
