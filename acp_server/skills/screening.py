"""What skills may bring to the model, and what they may be changed to: the two scans joined.

The threat scan looks for instructions that were put into a text; the guard for what a skill would
do. Neither is told who reads: the caller acts on what is found.
"""

import shlex
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import assert_never

from prompt_engine.threats import blocked_notice, scan
from prompt_engine.trust import Trusted, sha256_of
from skills_store import SkillError
from skills_store.changes import Change, Copied, Moved, Removed, Written
from skills_store.guard import Contents, Finding, TextScan, collect, decide, examine
from skills_store.guard.verdict import verdict_of

strict_scan: TextScan = partial(scan, scope="strict")
"""Looks through what an agent or a stranger wrote."""

_BULLET = "  - "


class BlockedSkillError(SkillError):
    """A text of a skill holds instructions that must not reach the model."""

    def __init__(self, file: Path, notice: str) -> None:
        super().__init__(
            f"{notice} Tell the user, who can read {file} and allow exactly this text with "
            f"`acp-server context trust {shlex.quote(str(file))}`."
        )


def refuse_threats(file: Path, text: str, is_trusted: Trusted) -> None:
    """Refuse a text of a file with instructions that were put there. Blocks.

    Raises:
        BlockedSkillError: it has such, and the user does not trust exactly this content.
    """
    found = scan(text, "context")
    if found and not is_trusted(file.resolve(), _digest(file)):
        raise BlockedSkillError(file, blocked_notice(str(file), found))


def _digest(file: Path) -> str:
    try:
        return sha256_of(file.read_bytes())
    except OSError:  # it is gone: nobody trusts that
        return ""


def screened_index(index: str) -> str:
    """Return an index without the descriptions that must not reach the model."""
    bad = {threat.line for threat in scan(index, "context")}
    if not bad:
        return index
    lines = index.splitlines()
    return "\n".join(
        line.partition(": ")[0] if number in bad and line.startswith(_BULLET) else line
        for number, line in enumerate(lines, 1)
    )


def doubts_about(change: Change) -> tuple[Finding, ...]:
    """Return what the user must be asked about before an agent's change is made. Blocks.

    Only what the change brings counts: what stood there before was accepted, or is the user's own.
    """
    before = _contents(change)
    new = frozenset(examine(_after(change, before), strict_scan).findings)
    brought = new - frozenset(examine(before, strict_scan).findings)
    verdict = verdict_of(each for each in brought if each.severity != "note")
    asks = decide("agent-created", verdict.level) == "ask"
    return tuple(each for each in verdict.findings if each.severity == "dangerous") if asks else ()


def _contents(change: Change) -> Contents:
    """Return the skill as it is before a change."""
    return Contents({}) if change.skill is None else _collected(change.skill.folder)


def _after(change: Change, before: Contents) -> Contents:
    match change.effect:
        case Copied():
            return _with(before, change.effect.inside, change.folder)
        case Written() | Removed():
            return _with(before, change.effect, change.folder)
        case Moved():
            return before
        case _:
            assert_never(change.effect)


def _with(contents: Contents, effect: Written | Removed, folder: Path) -> Contents:
    name = effect.path.relative_to(folder).as_posix()
    files = {path: data for path, data in contents.files.items() if path != name}
    if isinstance(effect, Written):
        files[name] = effect.new
    return replace(contents, files=files)


def _collected(folder: Path) -> Contents:
    try:
        return collect(folder)
    except OSError:  # it is gone: the change will say so
        return Contents({})
