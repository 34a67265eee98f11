"""Permission policy: decides whether an effect is allowed, refused or needs the user's approval.

Pure: facts about files and commands are collected beforehand (`FactCollector`).
"""

from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from typing import assert_never

from acp_server.permissions.effects import SandboxStatus
from acp_server.permissions.modes import Mode
from acp_server.permissions.rules import CommandPart, RuleBook
from acp_server.permissions.scopes import (
    CommandScope,
    DirectoryScope,
    FileAccess,
    HostScope,
    McpToolScope,
    NetworkScope,
    ProjectChecksScope,
    RemoteReadScope,
    Scope,
    SiteScope,
)
from acp_server.permissions.shell.findings import Assessment
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class FileFacts:
    """Files to be read or written, symlinks resolved."""

    access: FileAccess
    files: tuple[Path, ...]
    outside: tuple[Path, ...] = ()
    """Those files that are outside the session's directories."""
    executable_by_others: tuple[tuple[Path, str], ...] = ()
    """Those files to be written that other programs run or obey, each with the reason."""
    protected: tuple[Path, ...] = ()
    """Those files that always require permission."""
    coverable_directory: Path | None = None
    """The directory that an "always" answer may cover; None if it would cover too much."""


@frozen_dataclass
class CommandFacts:
    """A command to be run."""

    command: str
    assessment: Assessment
    doubts: tuple[str, ...] = ()
    """Reasons to ask about the files it accesses, as phrases for the user; no "always" covers
    these."""
    is_protected: bool = False
    """Whether it accesses files that always require permission."""
    sandbox_status: SandboxStatus = "free"
    """How the command relates to the sandbox."""
    parts: tuple[CommandPart, ...] = ()
    """The simple commands that ask."""
    exposure: str = ""
    """Secrets that it could read outside the sandbox, as a phrase."""


@frozen_dataclass
class MemoryFacts:
    """A change of the memory, which can be undone."""

    asks_first: bool
    """Whether the user wants to approve each change."""


@frozen_dataclass
class SkillFacts:
    """A change of a skill."""

    files: FileFacts
    doubts: tuple[str, ...] = ()
    """Reasons to ask the user in any mode."""


@frozen_dataclass
class RestoreFacts:
    """Files to be restored to an earlier state."""

    files: FileFacts
    changed_since: tuple[str, ...] = ()
    """Names of those files that were changed after the turn, by the user or another program."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Reasons to ask the user in any mode."""
        names = ", ".join(self.changed_since)
        return (CHANGED_SINCE.format(names=names),) if names else ()


@frozen_dataclass
class McpToolFacts:
    """A call of an MCP server's tool; `read_only_hint` and `destructive_hint` are unverified."""

    scope: McpToolScope
    read_only_hint: bool
    destructive_hint: bool


@frozen_dataclass
class FetchFacts:
    """A page to be fetched."""

    scope: SiteScope


@frozen_dataclass
class ConnectFacts:
    """A connection of a sandboxed command to a host."""

    scope: HostScope


@frozen_dataclass
class PlanFacts:
    """A plan to be accepted, which ends plan mode."""


Facts = (
    FileFacts
    | CommandFacts
    | MemoryFacts
    | SkillFacts
    | RestoreFacts
    | McpToolFacts
    | FetchFacts
    | ConnectFacts
    | PlanFacts
)


@frozen_dataclass
class Allow:
    """The effect is allowed."""


@frozen_dataclass
class Ask:
    """The user decides; an "always" answer may cover one of the scopes, if there are any."""

    reason: str = ""
    scope: Scope | None = None
    exact_scope: Scope | None = None
    """A narrower scope that an "always" answer may cover instead; None if there is none."""
    checks_scope: Scope | None = None
    """A wider scope that an "always" answer may cover instead; None if there is none."""
    is_allowable: bool = field(default=False, compare=False)
    """Whether a rule of an unattended run would have allowed it."""


@frozen_dataclass
class Refuse:
    """The effect is refused; `reason` is sent to the model."""

    reason: str


Decision = Allow | Ask | Refuse

PLANNING = "plan mode is on: nothing is written and nothing is run; read, search and plan instead"
NOT_PLANNING = "plan mode is off, so no plan has to be accepted: do the work"
ALWAYS_REFUSED = "this is never run in any mode: {reason}"
MEMORY_NEEDS_APPROVAL = "your settings require approval of each memory change"
DESTRUCTIVE_HINT = "the server marks this tool as destructive"
READ_ONLY_HINT = "the server says that this tool is read-only, which cannot be verified"
CHANGED_SINCE = "files changed after the turn, and these changes would be lost: {names}"
OUTSIDE_SANDBOX = (
    "it would run outside the sandbox, where it can write anywhere and use the network"
)
WITH_NETWORK = "it would use the network without limits; it still writes in the workspace only"
NOT_PUBLIC = "{site} leads to {address}, which is on this machine or in a private network"
READS_FROM_HOST = "it reads from {hosts}, and what it asks for could carry data there"
UNKNOWN_HOST = "where it reads from is not certain"
NO_SANDBOX = "commands cannot be sandboxed on this machine"
REJECTED_BY_RULE = "the user has forbidden this for good"


def decide(facts: Facts, mode: Mode, rules: RuleBook) -> Decision:
    """Return the decision on an effect."""
    match facts:
        case FileFacts():
            return _decide_on_files(facts, mode, rules)
        case CommandFacts():
            return _decide_on_command(facts, mode, rules)
        case MemoryFacts():
            return _decide_on_memory(facts, mode)
        case SkillFacts() | RestoreFacts():
            return _decide_on_doubtful(facts, mode, rules)
        case McpToolFacts() | FetchFacts() | ConnectFacts():
            return _decide_on_remote(facts, mode, rules)
        case PlanFacts():
            return Ask() if mode == "plan" else Refuse(NOT_PLANNING)
        case _:
            assert_never(facts)


def _decide_on_files(facts: FileFacts, mode: Mode, rules: RuleBook) -> Decision:
    if mode == "bypass":
        return Allow()
    # Before the rules: a saved "always allow" must not permit writing in plan mode.
    if mode == "plan" and facts.access == "write":
        return Refuse(PLANNING)
    verdict = rules.verdict_on_files(facts.access, facts.files)
    if verdict is False:
        return Refuse(REJECTED_BY_RULE)
    if facts.protected or facts.executable_by_others:
        # Before an allow rule is honored: "always allow edits in src/" does not cover secrets,
        # hooks or editor tasks below it.
        return Ask(_protected_reason(facts))
    is_allowed_by_mode = not facts.outside and (facts.access == "read" or mode == "accept_edits")
    if verdict or is_allowed_by_mode:
        return Allow()
    outside_paths = ", ".join(str(path) for path in facts.outside)
    reason = f"it is outside the workspace: {outside_paths}" if facts.outside else ""
    return Ask(
        reason,
        DirectoryScope(facts.access, facts.coverable_directory)
        if facts.coverable_directory
        else None,
    )


def _protected_reason(facts: FileFacts) -> str:
    if facts.protected:
        return f"{_names(facts.protected)} may hold secrets or settings"
    paths_by_reason: dict[str, list[Path]] = {}
    for path, reason in facts.executable_by_others:
        paths_by_reason.setdefault(reason, []).append(path)
    return "; ".join(f"{_names(paths)}: {reason}" for reason, paths in paths_by_reason.items())


def _names(paths: Sequence[Path]) -> str:
    return ", ".join(path.name for path in paths)


def _decide_on_command(facts: CommandFacts, mode: Mode, rules: RuleBook) -> Decision:
    assessment = facts.assessment
    # Security: before the mode, so that the deny list holds in bypass mode, too.
    if assessment.verdict == "refused":
        return Refuse(ALWAYS_REFUSED.format(reason=assessment.reason))
    if mode == "bypass":
        return Allow()
    if mode == "plan":
        return Refuse(PLANNING)
    verdict = rules.verdict_on_command(facts.parts)
    if verdict is False:
        return Refuse(REJECTED_BY_RULE)
    network_verdict = facts.sandbox_status != "networked" or rules.verdict_on(NetworkScope())
    if not network_verdict:
        return _decide_on_network(facts, network_verdict)
    only_reads = assessment.verdict == "reads" and facts.sandbox_status != "unprotected"
    # A saved "always" never covers running outside the sandbox.
    may_run = not facts.doubts and facts.sandbox_status != "unconfined"
    is_covered = verdict and assessment.is_coverable
    return Allow() if may_run and (is_covered or only_reads) else _ask_about_command(facts)


def _decide_on_network(facts: CommandFacts, verdict: bool | None) -> Decision:  # noqa: FBT001
    """Decide on a command that asks for the network, by what the rules say about that."""
    if verdict is False:
        return Refuse(REJECTED_BY_RULE)
    return Ask("; ".join((WITH_NETWORK, *facts.doubts)), NetworkScope())


def _ask_about_command(facts: CommandFacts) -> Ask:
    assessment = facts.assessment
    reason = assessment.reason or "; ".join(facts.doubts)
    if facts.sandbox_status == "unconfined":
        return Ask("; ".join(filter(None, (OUTSIDE_SANDBOX, facts.exposure, reason))))
    reason = reason or (NO_SANDBOX if facts.sandbox_status == "unprotected" else "")
    parts = facts.parts
    if facts.doubts or not assessment.is_coverable:
        return Ask(reason)
    if any(part.command.remote is not None and not part.hosts for part in parts):
        return Ask("; ".join((reason, UNKNOWN_HOST)))
    hosts = tuple(dict.fromkeys(host for part in parts for host in part.hosts))
    parts = tuple(part for part in parts if not part.hosts)
    if hosts and not parts:
        reason = READS_FROM_HOST.format(hosts=", ".join(hosts))
    if len(hosts) == 1 and not parts:
        return Ask(reason, RemoteReadScope(hosts[0]))
    exact = tuple(each for part in parts for each in part.patterns(is_exact=True))
    is_exact = all(part.command.is_exact for part in parts)
    exact_scope = CommandScope(exact, hosts) if is_exact else None
    # A part that can only be covered word for word stays narrow in the wide answer, too.
    wide = tuple(
        each
        for part in parts
        for each in part.patterns(is_exact=False) or part.patterns(is_exact=True)
    )
    if all(pattern.is_exact for pattern in wide):
        return Ask(reason, exact_scope)
    is_check = not hosts and all(part.is_check for part in parts)
    checks_scope = ProjectChecksScope() if is_check else None
    return Ask(reason, CommandScope(wide, hosts), exact_scope, checks_scope)


def _decide_on_memory(facts: MemoryFacts, mode: Mode) -> Decision:
    if mode == "plan":
        return Refuse(PLANNING)
    return Ask(MEMORY_NEEDS_APPROVAL) if facts.asks_first and mode != "bypass" else Allow()


def _decide_on_doubtful(facts: SkillFacts | RestoreFacts, mode: Mode, rules: RuleBook) -> Decision:
    """Decide as for any file, but ask the user if there is any doubt, in every mode.

    No mode and no "always" covers a doubt: the user did not mean to allow harm to later sessions,
    or the loss of changes made after a turn.
    """
    decision = _decide_on_files(facts.files, mode, rules)
    # A refusal stays a refusal; only an approval is turned into a question.
    if facts.doubts and not isinstance(decision, Refuse):
        return Ask("; ".join(facts.doubts))
    return decision


def _decide_on_remote(
    facts: McpToolFacts | FetchFacts | ConnectFacts, mode: Mode, rules: RuleBook
) -> Decision:
    """Decide on an effect that is executed by another program or host.

    The read-only hint of a server's tool is unverified, so the hint alone never allows a call.
    Fetching a page changes nothing here, but its URL may leak data.
    """
    if mode == "bypass":
        return Allow()
    reason = ""
    if isinstance(facts, McpToolFacts):
        if mode == "plan" and (facts.destructive_hint or not facts.read_only_hint):
            return Refuse(PLANNING)
        if facts.destructive_hint:
            reason = DESTRUCTIVE_HINT
        elif mode == "plan":
            reason = READ_ONLY_HINT
    elif isinstance(facts, ConnectFacts) and facts.scope.address:
        reason = NOT_PUBLIC.format(site=facts.scope.site, address=facts.scope.address)
    verdict = rules.verdict_on(facts.scope)
    if verdict is None:
        return Ask(reason, facts.scope)
    return Allow() if verdict else Refuse(REJECTED_BY_RULE)
