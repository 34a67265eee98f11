"""The policy: what may be done unasked, what is asked about, what is refused.

Pure: the facts about files and commands are gathered before (`survey`).
"""

from pathlib import Path
from typing import assert_never

from acp_server.frozen import frozen
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


@frozen
class FileFacts:
    """Files that are to be read or written, links resolved."""

    act: Act
    files: tuple[Path, ...]
    outside: tuple[Path, ...] = ()
    """Those of them outside the folders of the session."""
    run_by_others: tuple[Path, ...] = ()
    """Those of them that are written and that other programs run or obey."""
    protected: tuple[Path, ...] = ()
    """Those of them that nobody touches unasked."""
    folder: Path | None = None
    """The folder that an "always" may cover; None if it would cover too much."""


@frozen
class CommandFacts:
    """A command that is to be run."""

    command: str
    assessment: Assessment
    doubts: tuple[str, ...] = ()
    """Why what it touches is not simply allowed, in phrases for a person; no "always" covers it."""
    is_protected: bool = False
    """Whether it touches what nobody touches unasked."""
    standing: Standing = "free"
    """How it stands to the sandbox."""


@frozen
class MemoryFacts:
    """The memory is to be changed, which can be undone."""

    asks_first: bool
    """Whether the user wants to be asked about each change."""


@frozen
class SkillFacts:
    """A skill is to be changed."""

    files: FileFacts
    doubts: tuple[str, ...] = ()
    """Why the user must be asked, in any mode."""


@frozen
class RestoreFacts:
    """Files are to be made again what they were."""

    files: FileFacts
    changed_since: tuple[str, ...] = ()
    """Those that somebody has changed since."""

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why the user must be asked, in any mode."""
        names = ", ".join(self.changed_since)
        return (CHANGED_SINCE.format(names=names),) if names else ()


@frozen
class ServerFacts:
    """A tool of an MCP server is to be called; its server's claims are that and no more."""

    scope: ServerScope
    claims_to_read: bool
    claims_to_destroy: bool


@frozen
class FetchFacts:
    """A page is to be fetched."""

    scope: SiteScope


@frozen
class PlanFacts:
    """Plan mode is to end, with a plan."""


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
    """It may be done."""


@frozen
class Ask:
    """The user decides; an "always" may cover `scope`, if there is one."""

    reason: str = ""
    scope: Scope | None = None


@frozen
class Refuse:
    """It may not be done; `reason` is for the model."""

    reason: str


Decision = Allow | Ask | Refuse

PLANNING = "plan mode is on: nothing is written and nothing is run; read, search and plan instead"
NOT_PLANNING = "plan mode is not on: there is nothing to accept, do what is to be done"
ALWAYS_REFUSED = "this is never run, in no mode: {reason}"
MEMORY_ASKED = "the settings want to have you asked about each change of the memory"
CLAIMED_TO_DESTROY = "its server says that it may destroy something"
CLAIMED_TO_READ = "only its server's word stands for it that it changes nothing"
CHANGED_SINCE = "changed since the turn, and that would be lost: {names}"
UNCONFINED = "it would run outside the sandbox, where it can write anywhere and use the network"
UNPROTECTED = "commands cannot be confined on this machine"
REJECTED_ONCE_FOR_ALL = "the user has said once for all that this is not to be done"


def decide(facts: Facts, mode: Mode, rules: RuleBook) -> Decision:
    """Return what is to become of an effect."""
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
    if mode == "plan" and facts.act == "write":
        return Refuse(PLANNING)
    said = rules.verdict_on_files(facts.act, facts.files)
    if said is False:
        return Refuse(REJECTED_ONCE_FOR_ALL)
    if facts.protected or facts.run_by_others:
        return Ask(_why_special(facts))
    is_free = not facts.outside and (facts.act == "read" or mode == "accept_edits")
    if said or is_free:
        return Allow()
    places = ", ".join(str(path) for path in facts.outside)
    reason = f"it lies outside the workspace: {places}" if facts.outside else ""
    return Ask(reason, FolderScope(facts.act, facts.folder) if facts.folder else None)


def _why_special(facts: FileFacts) -> str:
    if facts.protected:
        return f"{_names(facts.protected)} may hold secrets or settings"
    return f"{_names(facts.run_by_others)} is run or obeyed by other programs"


def _names(paths: tuple[Path, ...]) -> str:
    return ", ".join(path.name for path in paths)


def _on_command(facts: CommandFacts, mode: Mode, rules: RuleBook) -> Decision:
    assessment = facts.assessment
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
    """Whether a command runs unasked: no "always" was ever said of leaving the sandbox."""
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
    """Decide as on any file; but where there is a doubt the user is asked, whatever holds now.

    No mode and no "always" covers it: what harms later sessions was not meant by them, nor that
    what somebody has done since a turn is undone with it.
    """
    decision = _on_files(facts.files, mode, rules)
    if facts.doubts and not isinstance(decision, Refuse):
        return Ask("; ".join(facts.doubts))
    return decision


def _on_others(facts: ServerFacts | FetchFacts, mode: Mode, rules: RuleBook) -> Decision:
    """Decide on what leaves for somebody else's program."""
    match facts:
        case ServerFacts():
            return _on_server(facts, mode, rules)
        case FetchFacts():
            return _on_fetch(facts, mode, rules)


def _on_server(facts: ServerFacts, mode: Mode, rules: RuleBook) -> Decision:
    """Decide on a call; that it only reads is the server's word, so by itself it opens nothing."""
    if mode == "bypass":
        return Allow()
    if mode == "plan" and (facts.claims_to_destroy or not facts.claims_to_read):
        return Refuse(PLANNING)
    said = rules.verdict_on(facts.scope)
    if said is not None:
        return Allow() if said else Refuse(REJECTED_ONCE_FOR_ALL)
    return Ask(_why_asked(facts, mode), facts.scope)


def _on_fetch(facts: FetchFacts, mode: Mode, rules: RuleBook) -> Decision:
    """Decide on a page by its site: fetching changes nothing here, but its address tells it."""
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
