"""What the gate will do with a call of a tool in a mode, in a phrase; asked of the policy itself.

Goes by the tool's name and by what such calls usually touch: rules, protected files and paths
outside the workspace may decide otherwise when it comes to a call.
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
    MemoryFacts,
    PlanFacts,
    Refuse,
    ServerFacts,
    SkillFacts,
    decide,
)
from acp_server.permissions.rules import RuleBook
from acp_server.permissions.scopes import ServerScope, SiteScope
from acp_server.permissions.shell.findings import Assessment

_FILES = (Path("/workspace/file"),)
_READ = FileFacts("read", _FILES)
_WRITE = FileFacts("write", _FILES)
_RUN = CommandFacts("command", Assessment("asks", "it is not known to only read"))
_CALL = ServerFacts(
    ServerScope("server", "", "tool"), claims_to_read=False, claims_to_destroy=False
)
_USUAL: Mapping[str, Facts] = {
    "read_file": _READ,
    "search_files": _READ,
    "write_file": _WRITE,
    "patch": _WRITE,
    "terminal": _RUN,
    "process": _RUN,
    "memory": MemoryFacts(asks_first=False),
    "skill_manage": SkillFacts(FileFacts("write", _FILES, outside=_FILES)),
    "web_fetch": FetchFacts(SiteScope("example.com")),
    "exit_plan": PlanFacts(),
}
"""What calls touch, by the name of their tool; others touch nothing that is asked about."""
SERVER_MARK = "__"
"""Stands in the name of every tool of an MCP server."""


def forecast(tool: str, mode: Mode) -> str:
    """Return what usually becomes of a tool's calls in a mode.

    >>> forecast("write_file", "ask"), forecast("write_file", "accept_edits")
    ('asked about', 'unasked in the workspace')
    """
    facts = _USUAL.get(tool, _CALL if SERVER_MARK in tool else None)
    if facts is None:
        return "unasked"
    decision = decide(facts, mode, RuleBook())
    match decision:
        case Allow():
            is_bounded = isinstance(facts, FileFacts) and mode != "bypass"
            return "unasked in the workspace" if is_bounded else "unasked"
        case Ask():
            only_reads = isinstance(facts, CommandFacts)
            return "asked about, unless it only reads" if only_reads else "asked about"
        case Refuse():
            return "of use in plan mode only" if isinstance(facts, PlanFacts) else "refused"
        case _:
            assert_never(decision)
