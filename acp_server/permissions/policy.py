"""The policy: what may be done unasked, what is asked about, what is refused.

Pure: the facts about files and commands are gathered before (`survey`).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import assert_never

from acp_server.permissions.modes import Mode
from acp_server.permissions.rules import RuleBook
from acp_server.permissions.scopes import Act, CommandScope, FolderScope, Scope
from acp_server.permissions.shell.findings import Assessment


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class CommandFacts:
    """A command that is to be run."""

    command: str
    assessment: Assessment
    doubts: tuple[str, ...] = ()
    """Why what it touches is not simply allowed, in phrases for a person; no "always" covers it."""


@dataclass(frozen=True, slots=True)
class MemoryFacts:
    """The memory is to be changed, which can be undone."""

    asks_first: bool
    """Whether the user wants to be asked about each change."""


Facts = FileFacts | CommandFacts | MemoryFacts


@dataclass(frozen=True, slots=True)
class Allow:
    """It may be done."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The user decides; an "always" may cover `scope`, if there is one."""

    reason: str = ""
    scope: Scope | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """It may not be done; `reason` is for the model."""

    reason: str


Decision = Allow | Ask | Refuse

PLANNING = "plan mode is on: nothing is written and nothing is run; read, search and plan instead"
ALWAYS_REFUSED = "this is never run, in no mode: {reason}"
MEMORY_ASKED = "the settings want to have you asked about each change of the memory"
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
    if not facts.doubts and (said or assessment.verdict == "reads"):
        return Allow()
    prefix = None if facts.doubts else assessment.prefix
    scope = CommandScope(prefix) if prefix else None
    return Ask(assessment.reason or "; ".join(facts.doubts), scope)


def _on_memory(facts: MemoryFacts, mode: Mode) -> Decision:
    if mode == "plan":
        return Refuse(PLANNING)
    return Ask(MEMORY_ASKED) if facts.asks_first and mode != "bypass" else Allow()
