"""Orders: what whoever starts a run says beforehand about what may be done in it.

They stand above the mode and above what was said once for all, and below what is refused in any
case. The first order that fits counts. Pure: knows facts, no disk.
"""

import fnmatch
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Literal, assert_never

from pathspec import GitIgnoreSpec

from acp_server.frozen import frozen
from acp_server.permissions.policy import (
    Allow,
    Ask,
    CommandFacts,
    Decision,
    Facts,
    FetchFacts,
    FileFacts,
    MemoryFacts,
    PlanFacts,
    Refuse,
    RestoreFacts,
    ServerFacts,
    SkillFacts,
)
from acp_server.permissions.shell.assessment import plain_words, spoken_commands

Action = Literal["allow", "deny", "ask"]

ORDERED_NOT = "the rules of this run forbid it: {rule}"
ORDERED_TO_ASK = "the rules of this run have it asked about: {rule}"
PROTECTED = "it touches what may hold secrets or settings, which no rule of a run opens"


@frozen
class Order:
    """One rule of a run: what is to become of the deeds that it fits.

    Every restriction that it has must fit; one with several values fits if one of them does.
    """

    action: Action
    tools: tuple[str, ...] = ()
    """Names of tools, with `*` and `?`; none: any tool."""
    paths: tuple[str, ...] = ()
    """Patterns as in a .gitignore file, from the workspace's folder; absolute ones begin with /."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Words that a command begins with."""
    hosts: tuple[str, ...] = ()
    """Names of hosts; `*.example.com` is any below it."""
    written: str = ""
    """How the user has written it, for messages."""


@frozen
class Deed:
    """What a call is about to do, as far as orders look at it."""

    tool: str
    files: tuple[Path, ...] = ()
    command: str | None = None
    host: str | None = None
    is_protected: bool = False
    is_unconfined: bool = False
    """Whether it leaves the sandbox, which a yes to the command does not cover."""


@frozen
class Orders:
    """The rules of a run, in order."""

    rules: tuple[Order, ...] = ()

    def applied(self, decision: Decision, tool: str, facts: Facts, root: Path) -> Decision:
        """Return what becomes of a decision; what is protected is asked about in any mode."""
        if isinstance(decision, Refuse):
            return decision
        deed = deed_of(tool, facts)
        found = next((rule for rule in self.rules if _fits(rule, deed, root)), None)
        if found is not None and found.action == "deny":
            return Refuse(ORDERED_NOT.format(rule=found.written))
        if deed.is_protected:
            return decision if isinstance(decision, Ask) else Ask(PROTECTED)
        if found is None or (found.action == "allow" and deed.is_unconfined):
            return decision
        if found.action == "allow":
            return Allow()
        return Ask(ORDERED_TO_ASK.format(rule=found.written))


def deed_of(tool: str, facts: Facts) -> Deed:
    """Return what orders look at."""
    match facts:
        case FileFacts():
            return Deed(tool, facts.files, is_protected=bool(facts.protected))
        case SkillFacts():
            return Deed(tool, facts.files.files, is_protected=bool(facts.doubts))
        case CommandFacts():
            return Deed(
                tool,
                command=facts.command,
                is_protected=facts.is_protected,
                is_unconfined=facts.standing == "unconfined",
            )
        case RestoreFacts():
            return Deed(tool, facts.files.files, is_protected=bool(facts.files.protected))
        case FetchFacts(scope):
            return Deed(tool, host=_host(scope.site))
        case MemoryFacts() | ServerFacts() | PlanFacts():
            return Deed(tool)
        case _:
            assert_never(facts)


def _host(site: str) -> str:
    """Return a site without its port."""
    return site[1:].partition("]")[0] if site.startswith("[") else site.partition(":")[0]


def _fits(rule: Order, deed: Deed, root: Path) -> bool:
    is_yes = rule.action == "allow"
    return (
        _fits_tool(rule.tools, deed.tool)
        and (not rule.paths or _fits_paths(rule.paths, deed.files, root, needs_all=is_yes))
        and (not rule.commands or _fits_command(rule.commands, deed.command, is_alone=is_yes))
        and (not rule.hosts or _fits_host(rule.hosts, deed.host))
    )


def _fits_tool(patterns: Sequence[str], tool: str) -> bool:
    return not patterns or any(fnmatch.fnmatchcase(tool, pattern) for pattern in patterns)


def _fits_paths(
    patterns: Sequence[str], files: Sequence[Path], root: Path, *, needs_all: bool
) -> bool:
    fits = [any(_fits_path(pattern, file, root) for pattern in patterns) for file in files]
    return bool(fits) and (all(fits) if needs_all else any(fits))


def _fits_path(pattern: str, file: Path, root: Path) -> bool:
    if pattern.startswith("/"):
        return _compiled(pattern).match_file(file.as_posix().lstrip("/"))
    return file.is_relative_to(root) and _compiled(pattern).match_file(
        file.relative_to(root).as_posix()
    )


@cache
def _compiled(pattern: str) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines([pattern])


def _fits_command(
    prefixes: Sequence[tuple[str, ...]], command: str | None, *, is_alone: bool
) -> bool:
    """Whether a command begins so. A yes is for one plain command, a no for each in a line."""
    if command is None:
        return False
    spoken = _alone(command) if is_alone else spoken_commands(command)
    if spoken is None:
        return not is_alone
    return any(words[: len(prefix)] == prefix for words in spoken for prefix in prefixes)


def _alone(command: str) -> Sequence[tuple[str, ...]] | None:
    words = plain_words(command)
    return None if words is None else (words,)


def _fits_host(patterns: Sequence[str], host: str | None) -> bool:
    return host is not None and any(_is_host(host.lower(), each.lower()) for each in patterns)


def _is_host(host: str, pattern: str) -> bool:
    return host == pattern or (pattern.startswith("*.") and host.endswith(pattern[1:]))
