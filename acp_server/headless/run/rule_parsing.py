"""Parsing of a run's permission rules: `TOOL` or `TOOL(WHAT)` on the command line, or a TOML file.

WHAT is a path pattern for file tools, the first words of a command for tools that run commands,
and a host for `web_fetch`. Evaluating the rules is not done here.
"""

import fnmatch
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from acp_server.permissions.run_rules import Action, Order
from acp_server.tools.factory import TOOL_NAMES

GROUPS: Mapping[str, tuple[str, ...]] = {
    "read": ("read_file", "search_files"),
    "edit": ("write_file", "patch"),
    "run": ("terminal", "process"),
    "fetch": ("web_fetch",),
}
"""Group names that stand for several tools."""
_RUNNING = frozenset({"terminal", "process"})
_FETCHING = frozenset({"web_fetch"})
_FORM = re.compile(r"(?P<tool>[^()\s]+)(?:\((?P<what>.*)\))?", re.DOTALL)
_OF_SERVERS = "__"


class RuleError(ValueError):
    """An invalid rule; the text says which, why, and how to write it."""


def rule_from(action: Action, text: str) -> Order:
    """Parse a rule from the command line.

    >>> rule_from("allow", "terminal(uv run pytest)").commands
    (('uv', 'run', 'pytest'),)

    Raises:
        RuleError: The rule is invalid.
    """
    found = _FORM.fullmatch(text.strip())
    if found is None:
        reason = f"{text!r} is not a rule; write TOOL or TOOL(WHAT), such as 'terminal(make test)'"
        raise RuleError(reason)
    tools, what = _tools(found["tool"]), (found["what"] or "").strip()
    if not what:
        return Order(action, tools, written=text)
    if _RUNNING.intersection(tools):
        return Order(action, tools, commands=(_words(what),), written=text)
    if _FETCHING.intersection(tools):
        return Order(action, tools, hosts=(what,), written=text)
    return Order(action, tools, paths=(_path(what),), written=text)


def _tools(name: str) -> tuple[str, ...]:
    if name in GROUPS:
        return GROUPS[name]
    is_known = _OF_SERVERS in name or any(fnmatch.fnmatchcase(each, name) for each in TOOL_NAMES)
    if not is_known:
        names = ", ".join((*GROUPS, *TOOL_NAMES))
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
        reason = f"{command!r} names no command; omit the parentheses to match any command"
        raise RuleError(reason)
    return tuple(words)


def _path(pattern: str) -> str:
    return str(Path(pattern).expanduser()) if pattern.startswith("~") else pattern


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class _Rule(BaseModel):
    model_config = ConfigDict(extra="forbid")

    action: Action
    tool: Words = ()
    path: Words = ()
    command: Words = ()
    host: Words = ()


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    version: Literal[1] = 1
    ask: Literal["deny", "fail"] = "deny"
    rules: tuple[_Rule, ...] = Field(default=())


@dataclass(frozen=True, slots=True)
class Policy:
    """Contents of a rules file."""

    rules: tuple[Order, ...] = ()
    fails_when_asked: bool = False
    """Whether a permission request ends the run; else it is denied."""


def policy_from(path: Path) -> Policy:
    """Load a rules file.

    Raises:
        RuleError: The file cannot be read or is invalid; the text says where and why.
    """
    try:
        file = _File.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = f"{path}: {error}"
        raise RuleError(reason) from None
    except ValidationError as error:
        reason = (
            f"{path}: {'; '.join(_complaint(each['loc'], each['msg']) for each in error.errors())}"
        )
        raise RuleError(reason) from None
    rules = tuple(_order(rule, number) for number, rule in enumerate(file.rules, 1))
    return Policy(rules, fails_when_asked=file.ask == "fail")


def _complaint(place: Sequence[str | int], message: str) -> str:
    return f"{'.'.join(map(str, place))}: {message}"


def _order(rule: _Rule, number: int) -> Order:
    tools = tuple(tool for name in rule.tool for tool in _tools(name))
    return Order(
        rule.action,
        tools,
        tuple(map(_path, rule.path)),
        tuple(map(_words, rule.command)),
        rule.host,
        written=f"rule {number}",
    )
