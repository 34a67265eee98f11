"""Permission policy: decides whether an effect is allowed, refused or needs the user's approval.

Pure: facts about files and commands are collected beforehand (`FactCollector`).
"""

from pathlib import Path
from typing import assert_never

from acp_server.permissions.effects import Standing
from acp_server.permissions.modes import Mode
from acp_server.permissions.rules import RuleBook
from acp_server.permissions.scopes import (
    Act,
    CommandScope,
    FolderScope,
    Scope,
    ServerScope,
    SiteScope,
)
from acp_server.permissions.shell.findings import Assessment
from acp_server.startup.fast_dataclass import frozen


@frozen
class FileFacts:
    """Files to be read or written, symlinks resolved."""

    act: Act
    files: tuple[Path, ...]
    outside: tuple[Path, ...] = ()
    """Those files that are outside the session's directories."""
    run_by_others: tuple[Path, ...] = ()
    """Those files to be written that other programs execute or read as configuration."""
    protected: tuple[Path, ...] = ()
    """Those files that always require permission."""
    folder: Path | None = None
    """The directory that an "always" answer may cover; None if it would cover too much."""


@frozen
class CommandFacts:
    """A command to be run."""

    command: str
    assessment: Assessment
    doubts: tuple[str, ...] = ()
    """Reasons to ask about the files it accesses, as phrases for the user; no "always" covers
    these."""
    is_protected: bool = False
    """Whether it accesses files that always require permission."""
    standing: Standing = "free"
    """How the command relates to the sandbox."""


@frozen
class MemoryFacts:
    """A change of the memory, which can be undone."""

    asks_first: bool
    """Whether the user wants to approve each change."""


@frozen
class SkillFacts:
    """A change of a skill."""

    files: FileFacts
    doubts: tuple[str, ...] = ()
    """Reasons to ask the user in any mode."""


@frozen
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


@frozen
class ServerFacts:
    """A call of an MCP server's tool; the `claims_` fields are unverified server hints."""

    scope: ServerScope
    claims_to_read: bool
    claims_to_destroy: bool


@frozen
class FetchFacts:
    """A page to be fetched."""

    scope: SiteScope


@frozen
class PlanFacts:
    """A plan to be accepted, which ends plan mode."""


Facts = (
    FileFacts
    | CommandFacts
    | MemoryFacts
    | SkillFacts
    | RestoreFacts
    | ServerFacts
    | FetchFacts
    | PlanFacts
)


@frozen
class Allow:
    """The effect is allowed."""


@frozen
class Ask:
    """The user decides; an "always" answer may cover `scope`, if there is one."""

    reason: str = ""
    scope: Scope | None = None


@frozen
class Refuse:
    """The effect is refused; `reason` is sent to the model."""

    reason: str


Decision = Allow | Ask | Refuse

PLANNING = "plan mode is on: nothing is written and nothing is run; read, search and plan instead"
NOT_PLANNING = "plan mode is not on: there is nothing to accept, do what is to be done"
ALWAYS_REFUSED = "this is never run, in no mode: {reason}"
MEMORY_ASKED = "your settings require approval of each memory change"
CLAIMED_TO_DESTROY = "the server marks this tool as destructive"
CLAIMED_TO_READ = "the server says that this tool is read-only, which cannot be verified"
CHANGED_SINCE = "files changed after the turn, and these changes would be lost: {names}"
UNCONFINED = "it would run outside the sandbox, where it can write anywhere and use the network"
UNPROTECTED = "commands cannot be sandboxed on this machine"
REJECTED_ONCE_FOR_ALL = "the user has said once for all that this is not to be done"


def decide(facts: Facts, mode: Mode, rules: RuleBook) -> Decision:
    """Return the decision on an effect."""
    match facts:
        case FileFacts():
            return _on_files(facts, mode, rules)
        case CommandFacts():
            return _on_command(facts, mode, rules)
        case MemoryFacts():
            return _on_memory(facts, mode)
        case SkillFacts() | RestoreFacts():
            return _on_doubtful(facts, mode, rules)
        case ServerFacts() | FetchFacts():
            return _on_others(facts, mode, rules)
        case PlanFacts():
            return Ask() if mode == "plan" else Refuse(NOT_PLANNING)
        case _:
            assert_never(facts)


def _on_files(facts: FileFacts, mode: Mode, rules: RuleBook) -> Decision:
    if mode == "bypass":
        return Allow()
    # Before the rules: a saved "always allow" must not permit writing in plan mode.
    if mode == "plan" and facts.act == "write":
        return Refuse(PLANNING)
    said = rules.verdict_on_files(facts.act, facts.files)
    if said is False:
        return Refuse(REJECTED_ONCE_FOR_ALL)
    if facts.protected or facts.run_by_others:
        # Before an allow rule is honored: "always allow edits in src/" does not cover secrets,
        # hooks or editor tasks below it.
        return Ask(_why_special(facts))
    is_free = not facts.outside and (facts.act == "read" or mode == "accept_edits")
    if said or is_free:
        return Allow()
    places = ", ".join(str(path) for path in facts.outside)
    reason = f"it is outside the workspace: {places}" if facts.outside else ""
    return Ask(reason, FolderScope(facts.act, facts.folder) if facts.folder else None)


def _why_special(facts: FileFacts) -> str:
    if facts.protected:
        return f"{_names(facts.protected)} may hold secrets or settings"
    return f"{_names(facts.run_by_others)} is executed or read as configuration by other programs"


def _names(paths: tuple[Path, ...]) -> str:
    return ", ".join(path.name for path in paths)


def _on_command(facts: CommandFacts, mode: Mode, rules: RuleBook) -> Decision:
    assessment = facts.assessment
    # Security: before the mode, so that the deny list holds in bypass mode, too.
    if assessment.verdict == "refused":
        return Refuse(ALWAYS_REFUSED.format(reason=assessment.reason))
    if mode == "bypass":
        return Allow()
    if mode == "plan":
        return Refuse(PLANNING)
    said = rules.verdict_on_command(facts.command)
    if said is False:
        return Refuse(REJECTED_ONCE_FOR_ALL)
    if _is_free(facts, is_covered=said is True):
        return Allow()
    return _question_on_command(facts)


def _is_free(facts: CommandFacts, *, is_covered: bool) -> bool:
    """Return whether a command runs without asking.

    A saved "always" never covers running outside the sandbox.
    """
    if facts.doubts or facts.standing == "unconfined":
        return False
    return is_covered or (facts.assessment.verdict == "reads" and facts.standing != "unprotected")


def _question_on_command(facts: CommandFacts) -> Ask:
    assessment = facts.assessment
    plain = assessment.reason or "; ".join(facts.doubts)
    if facts.standing == "unconfined":
        return Ask("; ".join(filter(None, (UNCONFINED, plain))))
    prefix = None if facts.doubts else assessment.prefix
    scope = CommandScope(prefix) if prefix else None
    return Ask(plain or (UNPROTECTED if facts.standing == "unprotected" else ""), scope)


def _on_memory(facts: MemoryFacts, mode: Mode) -> Decision:
    if mode == "plan":
        return Refuse(PLANNING)
    return Ask(MEMORY_ASKED) if facts.asks_first and mode != "bypass" else Allow()


def _on_doubtful(facts: SkillFacts | RestoreFacts, mode: Mode, rules: RuleBook) -> Decision:
    """Decide as for any file, but ask the user if there is any doubt, in every mode.

    No mode and no "always" covers a doubt: the user did not mean to allow harm to later sessions,
    or the loss of changes made after a turn.
    """
    decision = _on_files(facts.files, mode, rules)
    # A refusal stays a refusal; only an approval is turned into a question.
    if facts.doubts and not isinstance(decision, Refuse):
        return Ask("; ".join(facts.doubts))
    return decision


def _on_others(facts: ServerFacts | FetchFacts, mode: Mode, rules: RuleBook) -> Decision:
    """Decide on an effect that is executed by another program or host."""
    match facts:
        case ServerFacts():
            return _on_server(facts, mode, rules)
        case FetchFacts():
            return _on_fetch(facts, mode, rules)


def _on_server(facts: ServerFacts, mode: Mode, rules: RuleBook) -> Decision:
    """Decide on a tool call of an MCP server.

    Its read-only hint is unverified, so the hint alone never allows a call.
    """
    if mode == "bypass":
        return Allow()
    if mode == "plan" and (facts.claims_to_destroy or not facts.claims_to_read):
        return Refuse(PLANNING)
    said = rules.verdict_on(facts.scope)
    if said is not None:
        return Allow() if said else Refuse(REJECTED_ONCE_FOR_ALL)
    return Ask(_why_asked(facts, mode), facts.scope)


def _on_fetch(facts: FetchFacts, mode: Mode, rules: RuleBook) -> Decision:
    """Decide on a page by its site: fetching changes nothing here, but the URL may leak data."""
    if mode == "bypass":
        return Allow()
    said = rules.verdict_on(facts.scope)
    if said is not None:
        return Allow() if said else Refuse(REJECTED_ONCE_FOR_ALL)
    return Ask("", facts.scope)


def _why_asked(facts: ServerFacts, mode: Mode) -> str:
    if facts.claims_to_destroy:
        return CLAIMED_TO_DESTROY
    return CLAIMED_TO_READ if mode == "plan" else ""
