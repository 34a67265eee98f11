"""Permission policy: decides whether an effect is allowed, refused or needs the user's approval.

Pure: facts about files and commands are collected beforehand (`FactCollector`).
"""

from collections.abc import Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import assert_never

from acp_server.permissions import reasons
from acp_server.permissions.effects import SandboxStatus
from acp_server.permissions.modes import Mode
from acp_server.permissions.network_access import PortAccess
from acp_server.permissions.rules import CommandPart, RuleBook
from acp_server.permissions.scopes import (
    CommandScope,
    ConfinedCommandsScope,
    DirectoryScope,
    FileAccess,
    HostScope,
    McpToolScope,
    NetworkScope,
    PortScope,
    ProjectChecksScope,
    RemoteReadScope,
    Scope,
    SiteScope,
    SkillVariablesScope,
)
from acp_server.permissions.shell.findings import Assessment
from acp_server.permissions.shielded_files import Shield
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
    outside: tuple[Path, ...] = ()
    """Paths outside the workspace that it reads, symlinks resolved; an "always" for reading their
    directory covers them, if it only reads or is confined."""
    coverable_directory: Path | None = None
    """The directory that this "always" may cover; None if it would cover too much."""
    shield: Shield | None = None
    """What is kept from it if the sandbox alone approves it; None if it may not be approved so."""


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
        return (reasons.CHANGED_SINCE.format(names=names),) if names else ()


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
class SocketFacts:
    """A connection of a sandboxed command to a service of this machine."""

    danger: str
    """What the service can do for the command, as a phrase."""


@frozen_dataclass
class ForwardFacts:
    """A port of the sandbox's private network that this machine is to connect to."""

    scope: PortScope
    access: PortAccess
    """What the user has chosen for all ports."""


@frozen_dataclass
class VariableFacts:
    """Environment variables to be given to commands."""

    scope: SkillVariablesScope


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
    | ForwardFacts
    | SocketFacts
    | VariableFacts
    | PlanFacts
)


@frozen_dataclass
class Allow:
    """The effect is allowed."""

    shield: Shield | None = None
    """Files that must be kept from the command; None if it may do what any command may."""


@frozen_dataclass
class Ask:
    """The user decides; an "always" answer may cover one of the scopes, if there are any."""

    reason: str = ""
    scope: Scope | None = None
    exact_scope: Scope | None = None
    """A narrower scope that an "always" answer may cover instead; None if there is none."""
    checks_scope: Scope | None = None
    """A wider scope that an "always" answer may cover instead; None if there is none."""
    shield: Shield | None = field(default=None, compare=False)
    """If not None, an answer may also cover all commands that the sandbox confines; these files
    are kept from them."""
    is_allowable: bool = field(default=False, compare=False)
    """Whether a rule of an unattended run would have allowed it."""


@frozen_dataclass
class Refuse:
    """The effect is refused; `reason` is sent to the model."""

    reason: str
    can_be_allowed: bool = field(default=False, compare=False)
    """Whether a rule of an unattended run may allow it all the same."""


Decision = Allow | Ask | Refuse

PLANNING = "plan mode is on: nothing is written and nothing is run; read, search and plan instead"
NOT_PLANNING = "plan mode is off, so no plan has to be accepted: do the work"
ALWAYS_REFUSED = "this command is refused in every mode: {reason}"
NOT_CONFINED = "nothing is asked in this mode; run the command again with unconfined=true"
NO_PORTS = (
    "the user lets no port of commands be reached from this machine; `/forward {port}` or the "
    "session's option for ports would, by the user"
)
NO_CONSENT = (
    "the user is not asked in this mode, so commands do not get them; the user allows it by "
    "loading the skill in another mode and answering “always”, or by "
    "`acp-server run --allow 'skill_variables({skill})'`"
)
MAX_SHOWN = 3
REJECTED_BY_RULE = "the user has forbidden this for good"


def decide(facts: Facts, mode: Mode, rules: RuleBook) -> Decision:  # noqa: PLR0911  one per kind
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
        case McpToolFacts() | FetchFacts() | ConnectFacts() | ForwardFacts():
            return _decide_on_remote(facts, mode, rules)
        case SocketFacts():
            # It leaves the sandbox, which no mode and no "always" allows by itself.
            return Refuse(NOT_CONFINED) if mode == "bypass" else Ask(facts.danger)
        case VariableFacts():
            return _decide_on_variables(facts.scope, mode, rules)
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
    reason = reasons.outside(*facts.outside) if facts.outside else ""
    return Ask(
        reason,
        DirectoryScope(facts.access, facts.coverable_directory)
        if facts.coverable_directory
        else None,
    )


def _protected_reason(facts: FileFacts) -> str:
    if facts.protected:
        return reasons.secrets(_names(facts.protected))
    paths_by_reason: dict[str, list[Path]] = {}
    for path, reason in facts.executable_by_others:
        paths_by_reason.setdefault(reason, []).append(path)
    parts = (f"{_names(paths)}: {reason}" for reason, paths in paths_by_reason.items())
    return reasons.join_sentences(parts)


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
    reading_verdict = not facts.outside or rules.verdict_on_files("read", facts.outside)
    if verdict is False or reading_verdict is False:
        return Refuse(REJECTED_BY_RULE)
    network_verdict = facts.sandbox_status != "networked" or rules.verdict_on(NetworkScope())
    if not network_verdict:
        return _decide_on_network(facts, network_verdict)
    approval = None
    if reading_verdict:
        is_covered = bool(verdict) and assessment.is_coverable
        approval = _approve_command(facts, rules, is_covered=is_covered)
    return approval or _ask_about_command(facts, may_read_outside=bool(reading_verdict))


def _approve_command(facts: CommandFacts, rules: RuleBook, *, is_covered: bool) -> Allow | None:
    """Return the approval of a command; None if the user must be asked."""
    only_reads = facts.assessment.verdict == "reads" and facts.sandbox_status != "unprotected"
    # A saved "always" never covers running outside the sandbox.
    may_run = not facts.doubts and facts.sandbox_status != "unconfined"
    if may_run and (only_reads or (is_covered and not facts.outside)):
        return Allow()
    is_shielded = facts.shield is not None and rules.verdict_on(ConfinedCommandsScope())
    return Allow(facts.shield) if is_shielded else None


def _decide_on_network(facts: CommandFacts, verdict: bool | None) -> Decision:  # noqa: FBT001
    """Decide on a command that asks for the network, by what the rules say about that."""
    if verdict is False:
        return Refuse(REJECTED_BY_RULE)
    return Ask(
        reasons.join_sentences((reasons.WITH_NETWORK, *facts.doubts, *_describe_outside(facts))),
        NetworkScope(),
    )


def _describe_outside(facts: CommandFacts) -> tuple[str, ...]:
    return tuple(reasons.outside(path) for path in facts.outside[:MAX_SHOWN])


def _ask_about_command(facts: CommandFacts, *, may_read_outside: bool) -> Ask:
    assessment = facts.assessment
    reason = assessment.reason or reasons.join_sentences((*facts.doubts, *_describe_outside(facts)))
    if facts.sandbox_status == "unconfined":
        return Ask(reasons.join_sentences((reasons.OUTSIDE_SANDBOX, facts.exposure, reason)))
    reason = reason or (reasons.NO_SANDBOX if facts.sandbox_status == "unprotected" else "")
    shield = facts.shield if may_read_outside else None
    if not (may_read_outside or facts.doubts) and assessment.verdict == "reads":
        directory = facts.coverable_directory
        # Where no sandbox works, a command that only reads asks in any case.
        if directory is None or facts.sandbox_status == "unprotected":
            return Ask(reason)
        return Ask(reason, DirectoryScope("read", directory))
    if facts.doubts or facts.outside or not assessment.is_coverable:
        return Ask(reason, shield=shield)
    return replace(_ask_about_parts(facts, reason), shield=shield)


def _ask_about_parts(facts: CommandFacts, reason: str) -> Ask:
    """Ask about commands that an "always" may cover one by one."""
    parts = facts.parts
    if any(part.command.remote is not None and not part.hosts for part in parts):
        return Ask(reasons.join_sentences((reason, reasons.UNKNOWN_HOST)))
    hosts = tuple(dict.fromkeys(host for part in parts for host in part.hosts))
    parts = tuple(part for part in parts if not part.hosts)
    if hosts and not parts:
        reason = reasons.READS_FROM_HOST.format(hosts=", ".join(hosts))
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
    return Ask(reasons.MEMORY_NEEDS_APPROVAL) if facts.asks_first and mode != "bypass" else Allow()


def _decide_on_doubtful(facts: SkillFacts | RestoreFacts, mode: Mode, rules: RuleBook) -> Decision:
    """Decide as for any file, but ask the user if there is any doubt, in every mode.

    No mode and no "always" covers a doubt: the user did not mean to allow harm to later sessions,
    or the loss of changes made after a turn.
    """
    decision = _decide_on_files(facts.files, mode, rules)
    # A refusal stays a refusal; only an approval is turned into a question.
    if facts.doubts and not isinstance(decision, Refuse):
        return Ask(reasons.join_sentences(facts.doubts))
    return decision


def _decide_on_variables(scope: SkillVariablesScope, mode: Mode, rules: RuleBook) -> Decision:
    """Decide on secrets for commands: no mode gives them without the user's consent."""
    verdict = rules.verdict_on(scope)
    if verdict is not None:
        return Allow() if verdict else Refuse(REJECTED_BY_RULE)
    if mode == "bypass":
        return Refuse(NO_CONSENT.format(skill=scope.skill), can_be_allowed=True)
    return Ask("", scope)


def _decide_on_remote(
    facts: McpToolFacts | FetchFacts | ConnectFacts | ForwardFacts, mode: Mode, rules: RuleBook
) -> Decision:
    """Decide on an effect that is executed by another program or host.

    The read-only hint of a server's tool is unverified, so the hint alone never allows a call.
    Fetching a page changes nothing here, but its URL may leak data.
    """
    port_access = facts.access if isinstance(facts, ForwardFacts) else "ask"
    if isinstance(facts, ForwardFacts) and port_access == "off":
        return Refuse(NO_PORTS.format(port=facts.scope.port))
    if mode == "bypass" or port_access == "on":
        return Allow()
    reason = ""
    if isinstance(facts, McpToolFacts):
        if mode == "plan" and (facts.destructive_hint or not facts.read_only_hint):
            return Refuse(PLANNING)
        if facts.destructive_hint:
            reason = reasons.DESTRUCTIVE_HINT
        elif mode == "plan":
            reason = reasons.READ_ONLY_HINT
    elif isinstance(facts, ConnectFacts) and facts.scope.address:
        reason = reasons.NOT_PUBLIC.format(site=facts.scope.site, address=facts.scope.address)
    elif isinstance(facts, ForwardFacts):
        reason = reasons.FROM_THIS_MACHINE.format(port=facts.scope.port)
    verdict = rules.verdict_on(facts.scope)
    if verdict is None:
        return Ask(reason, facts.scope)
    return Allow() if verdict else Refuse(REJECTED_BY_RULE)
