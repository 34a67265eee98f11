"""Run rules: effects that a headless run allows, denies or asks about, set by its caller.

They outrank the mode and saved rules, but not refusals and the protection of secrets. The first
matching rule counts. Pure: knows facts, no disk.
"""

import fnmatch
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Literal, assert_never

from pathspec import GitIgnoreSpec

from acp_server.permissions.policy import (
    Allow,
    Ask,
    CommandFacts,
    ConnectFacts,
    Decision,
    Facts,
    FetchFacts,
    FileFacts,
    ForwardFacts,
    McpToolFacts,
    MemoryFacts,
    PlanFacts,
    Refuse,
    RestoreFacts,
    SkillFacts,
    SocketFacts,
    VariableFacts,
)
from acp_server.permissions.shell.assessment import list_command_words, split_plain_command
from acp_server.startup.fast_dataclass import frozen_dataclass

RuleAction = Literal["allow", "deny", "ask"]

SKILL_VARIABLES = "skill_variables"
"""The name by which rules know the variables that commands get for a skill. It is no tool."""

EDIT_TOOL = "patch"
"""The tool whose rules apply to files that are restored."""
DENIED_BY_RULE = "the rules of this run forbid it: {rule}"
ASK_BY_RULE = "a rule of this run requires your approval: {rule}"
FORBIDDEN_BY_FILE = "a rule of Claude Code's settings forbids it: {rule}"
ASK_BY_FILE = "a rule of Claude Code's settings requires your approval: {rule}"
PROTECTED_FROM_RULES = (
    "it accesses protected files (secrets or settings), which run rules cannot allow"
)


@frozen_dataclass
class RunRule:
    """One rule of a run, with the action for the effects that it matches.

    Every restriction must match; one with several values matches if one of them does.
    """

    action: RuleAction
    tools: tuple[str, ...] = ()
    """Tool names, with `*` and `?`; empty: any tool."""
    paths: tuple[str, ...] = ()
    """Patterns as in .gitignore, relative to the workspace; absolute ones begin with /."""
    commands: tuple[tuple[str, ...], ...] = ()
    """Words that a command begins with."""
    hosts: tuple[str, ...] = ()
    """Host names; `*.example.com` matches any host below it."""
    skills: tuple[str, ...] = ()
    """Names of skills whose variables commands get."""
    source_text: str = ""
    """The rule as the user wrote it, for messages."""


@frozen_dataclass
class EffectSummary:
    """The properties of an effect that run rules match against."""

    tool: str
    files: tuple[Path, ...] = ()
    command: str | None = None
    host: str | None = None
    skill: str | None = None
    is_protected: bool = False
    is_unconfined: bool = False
    """Whether it asks for more than the sandbox gives; allowing the command does not cover that."""


@frozen_dataclass
class RunRules:
    """Rules of a run, in order."""

    rules: tuple[RunRule, ...] = ()

    def apply(self, decision: Decision, tool: str, facts: Facts, root: Path) -> Decision:
        """Return the decision after applying the rules.

        Protected files require the user's approval in any mode.
        """
        # No rule turns a refusal into an approval: the deny list and plan mode stay in force.
        if isinstance(decision, Refuse) and not decision.can_be_allowed:
            return decision
        effect_summary = summarize_effect(tool, facts)
        matching_rule = next(
            (rule for rule in self.rules if _fits(rule, effect_summary, root)), None
        )
        if matching_rule is not None and matching_rule.action == "deny":
            return Refuse(DENIED_BY_RULE.format(rule=matching_rule.source_text))
        # Before allow rules, so that `allow: *` does not open secrets; after deny rules.
        if effect_summary.is_protected:
            return decision if isinstance(decision, Ask) else Ask(PROTECTED_FROM_RULES)
        if matching_rule is None and isinstance(decision, Ask):
            return replace(decision, is_allowable=not effect_summary.is_unconfined)
        # Allowing a command is not allowing it to leave the sandbox; a named host is allowed.
        if matching_rule is None or (
            matching_rule.action == "allow"
            and effect_summary.is_unconfined
            and not matching_rule.hosts
        ):
            return decision
        return (
            Allow()
            if matching_rule.action == "allow"
            else Ask(ASK_BY_RULE.format(rule=matching_rule.source_text))
        )


def restrict(
    decision: Decision, rules: Sequence[RunRule], tool: str, facts: Facts, root: Path
) -> Decision:
    """Return the decision after rules that only deny or ask; the first that matches counts."""
    if not rules or isinstance(decision, Refuse):
        return decision
    summary = summarize_effect(tool, facts)
    rule = next((each for each in rules if _fits(each, summary, root)), None)
    if rule is None:
        return decision
    if rule.action == "deny":
        return Refuse(FORBIDDEN_BY_FILE.format(rule=rule.source_text))
    return Ask(ASK_BY_FILE.format(rule=rule.source_text)) if decision == Allow() else decision


def forbid_tool(rules: Sequence[RunRule], tool: str) -> Refuse | None:
    """Return the refusal of a rule that denies a whole tool, if there is one."""
    for rule in rules:
        is_narrow = rule.paths or rule.commands or rule.hosts or rule.skills
        is_named = any(fnmatch.fnmatchcase(tool, pattern) for pattern in rule.tools)
        if rule.action == "deny" and is_named and not is_narrow:
            return Refuse(FORBIDDEN_BY_FILE.format(rule=rule.source_text))
    return None


def summarize_effect(tool: str, facts: Facts) -> EffectSummary:  # noqa: PLR0911  one per kind
    """Return the properties of an effect that run rules match against."""
    match facts:
        case FileFacts():
            return EffectSummary(tool, facts.files, is_protected=bool(facts.protected))
        case SkillFacts():
            return EffectSummary(tool, facts.files.files, is_protected=bool(facts.doubts))
        case CommandFacts():
            return EffectSummary(
                tool,
                command=facts.command,
                is_protected=facts.is_protected,
                is_unconfined=facts.sandbox_status in {"unconfined", "networked"},
            )
        case RestoreFacts():
            # A restore is an edit, by a command of the user instead of a tool.
            files = facts.files
            return EffectSummary(EDIT_TOOL, files.files, is_protected=bool(files.protected))
        case FetchFacts(scope):
            return EffectSummary(tool, host=_host_of(scope.site))
        case ConnectFacts(scope):
            return EffectSummary(tool, host=_host_of(scope.site), is_unconfined=True)
        case ForwardFacts() | SocketFacts():
            return EffectSummary(tool, is_unconfined=True)
        case VariableFacts(scope):
            return EffectSummary(SKILL_VARIABLES, skill=scope.skill)
        case MemoryFacts() | McpToolFacts() | PlanFacts():
            return EffectSummary(tool)
        case _:
            assert_never(facts)


def _host_of(site: str) -> str:
    """Return the host of a site: without its port and, of an IPv6 address, the brackets."""
    end = "]" if site.startswith("[") else ":"
    return site.removeprefix("[").partition(end)[0]


def _fits(rule: RunRule, effect_summary: EffectSummary, root: Path) -> bool:
    """Return whether all restrictions of a rule match an effect."""
    is_allow_rule = rule.action == "allow"
    tool, host = effect_summary.tool, (effect_summary.host or "").lower()
    # Security: `allow: *` does not mean secrets, so a rule that allows them names them.
    if tool == SKILL_VARIABLES and is_allow_rule and tool not in rule.tools:
        return False
    if rule.skills and effect_summary.skill not in rule.skills:
        return False
    if rule.tools and not any(fnmatch.fnmatchcase(tool, pattern) for pattern in rule.tools):
        return False
    if rule.paths:
        # A rule that allows must cover every file; one that denies needs to match only one.
        fits = [
            any(_fits_path(pattern, file, root) for pattern in rule.paths)
            for file in effect_summary.files
        ]
        if not fits or not (all(fits) if is_allow_rule else any(fits)):
            return False
    if rule.commands and not _fits_command(
        rule.commands, effect_summary.command, requires_single=is_allow_rule
    ):
        return False
    return not rule.hosts or any(_is_host(host, pattern.lower()) for pattern in rule.hosts)


def _fits_path(pattern: str, file: Path, root: Path) -> bool:
    if pattern.startswith("/"):
        return _compile_pattern(pattern).match_file(file.as_posix().lstrip("/"))
    # A relative pattern such as `*` must not match files outside the workspace.
    return file.is_relative_to(root) and _compile_pattern(pattern).match_file(
        file.relative_to(root).as_posix()
    )


@cache
def _compile_pattern(pattern: str) -> GitIgnoreSpec:
    return GitIgnoreSpec.from_lines([pattern])


def _fits_command(
    prefixes: Sequence[tuple[str, ...]], command: str | None, *, requires_single: bool
) -> bool:
    """Return whether a command line begins with one of the prefixes.

    A rule that allows matches a single plain command only; one that denies matches any command in
    the line.
    """
    if command is None:
        return False
    if requires_single:
        words = split_plain_command(command)
        commands = None if words is None else (words,)
    else:
        commands = list_command_words(command)
    if commands is None:
        # Fail closed: a line that cannot be parsed matches every denial and no permission.
        return not requires_single
    return any(_begins_with(words, prefix) for words in commands for prefix in prefixes)


def _begins_with(words: Sequence[str], prefix: Sequence[str]) -> bool:
    if not any("*" in word for word in prefix):
        return tuple(words[: len(prefix)]) == tuple(prefix)
    line, pattern = " ".join(words), " ".join(prefix)
    return fnmatch.fnmatchcase(line, pattern) or fnmatch.fnmatchcase(line, f"{pattern} *")


def _is_host(host: str, pattern: str) -> bool:
    return bool(host) and (
        host == pattern or (pattern.startswith("*.") and host.endswith(pattern[1:]))
    )
