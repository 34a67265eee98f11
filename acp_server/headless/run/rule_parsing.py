"""Parsing of a run's permission rules: `TOOL` or `TOOL(WHAT)` on the command line, or a TOML file.

WHAT is a path pattern for file tools, the first words of a command for tools that run commands,
a host for `web_fetch`, and the name of a skill for `skill_variables`. Evaluating the rules is not
done here.
"""

import fnmatch
import re
import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from acp_server.mcp.tool_names import RESOURCE_TOOL, SAMPLING
from acp_server.permissions.run_rules import SKILL_VARIABLES, RuleAction, RunRule
from acp_server.text.validation_errors import describe_problems
from acp_server.tools.tool_names import TOOL_NAMES

TOOL_GROUPS: Mapping[str, tuple[str, ...]] = {
    "read": ("read_file", "search_files", "symbols"),
    "edit": ("write_file", "patch"),
    "run": ("terminal", "process"),
    "fetch": ("web_fetch",),
}
"""Group names that stand for several tools."""
_COMMAND_TOOLS = frozenset({"terminal", "process"})
_FETCH_TOOLS = frozenset({"web_fetch"})
_RULE_PATTERN = re.compile(r"(?P<tool>[^()\s]+)(?:\((?P<what>.*)\))?", re.DOTALL)
_MCP_SEPARATOR = "__"
_RULE_NAMES = (*TOOL_NAMES, RESOURCE_TOOL, SAMPLING, SKILL_VARIABLES)


class RuleError(ValueError):
    """An invalid rule; the text says which, why, and how to write it."""


def parse_rule(action: RuleAction, text: str) -> RunRule:
    """Parse a rule from the command line.

    >>> parse_rule("allow", "terminal(uv run pytest)").commands
    (('uv', 'run', 'pytest'),)

    Raises:
        RuleError: The rule is invalid.
    """
    found = _RULE_PATTERN.fullmatch(text.strip())
    if found is None:
        reason = f"{text!r} is not a rule; write TOOL or TOOL(WHAT), such as 'terminal(make test)'"
        raise RuleError(reason)
    tools, pattern = _tools(found["tool"]), (found["what"] or "").strip()
    if not pattern:
        return RunRule(action, tools, source_text=text)
    if _COMMAND_TOOLS.intersection(tools):
        return RunRule(action, tools, commands=(_words(pattern),), source_text=text)
    if _FETCH_TOOLS.intersection(tools):
        return RunRule(action, tools, hosts=(pattern,), source_text=text)
    if tools == (SKILL_VARIABLES,):
        return RunRule(action, tools, skills=(pattern,), source_text=text)
    return RunRule(action, tools, paths=(_path(pattern),), source_text=text)


def _tools(name: str) -> tuple[str, ...]:
    if name in TOOL_GROUPS:
        return TOOL_GROUPS[name]
    is_known = _MCP_SEPARATOR in name or any(
        fnmatch.fnmatchcase(each, name) for each in _RULE_NAMES
    )
    if not is_known:
        names = ", ".join((*TOOL_GROUPS, *TOOL_NAMES))
        reason = f"there is no tool {name!r}; there are {names}, and SERVER__TOOL of MCP servers"
        raise RuleError(reason)
    return (name,)


def _words(command: str) -> tuple[str, ...]:
    """Return the words that a command must start with; a `*` at the end changes nothing."""
    try:
        words = shlex.split(command.removesuffix("*").removesuffix(":"))
    except ValueError as error:
        reason = f"{command!r} cannot be parsed as the start of a command: {error}"
        raise RuleError(reason) from None
    if not words:
        raise RuleError(f"{command!r} names no command; omit the parentheses to match any command")
    return tuple(words)


def _path(pattern: str) -> str:
    return str(Path(pattern).expanduser()) if pattern.startswith("~") else pattern


def _as_list(value: object) -> object:
    return [value] if isinstance(value, str) else value


StringList = Annotated[tuple[str, ...], BeforeValidator(_as_list)]


class _RuleEntry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    action: RuleAction
    tool: StringList = ()
    path: StringList = ()
    command: StringList = ()
    host: StringList = ()
    skill: StringList = ()


class _RulesDocument(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    ask: Literal["deny", "fail"] = "deny"
    rules: tuple[_RuleEntry, ...] = Field(default=())


@dataclass(frozen=True, slots=True)
class RulesFile:
    """Contents of a rules file."""

    rules: tuple[RunRule, ...] = ()
    stop_on_question: bool = False
    """Whether a permission request ends the run; else it is denied."""


def load_rules_file(path: Path) -> RulesFile:
    """Load a rules file.

    Raises:
        RuleError: The file cannot be read or is invalid; the text says where and why.
    """
    try:
        file = _RulesDocument.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise RuleError(f"{path}: {error}") from None
    except ValidationError as error:
        raise RuleError(f"{path}: {describe_problems(error)}") from None
    rules = tuple(
        RunRule(
            rule.action,
            tuple(tool for name in rule.tool for tool in _tools(name)),
            tuple(map(_path, rule.path)),
            tuple(map(_words, rule.command)),
            rule.host,
            rule.skill,
            source_text=f"rule {number}",
        )
        for number, rule in enumerate(file.rules, 1)
    )
    return RulesFile(rules, stop_on_question=file.ask == "fail")
