"""Screens skills for the model and skill changes for the user.

The guard of the skills store is given both scans of the prompt engine: for injected instructions,
and for harmful actions of a skill. The caller handles the findings.
"""

import shlex
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from prompt_engine.findings import SkillThreat
from prompt_engine.threats import scan, scan_skill_text
from prompt_engine.trust import TrustCheck, blocked_line, sha256_of
from skills_store.changes import SkillChange, SkillCopy, SkillMove
from skills_store.errors import SkillError
from skills_store.guard.collecting import collect_skill_files
from skills_store.guard.contents import SkillContents
from skills_store.guard.scanning import scan_skill
from skills_store.guard.verdict import SkillFinding, build_verdict, decide

_BULLET = "  - "


def scan_published(text: str, *, is_program: bool) -> tuple[SkillThreat, ...]:
    """Scan a text of a skill that is about to be installed.

    What an agent must not write into its own memory is ordinary here: commands that send a key in a
    header, files of agents that a skill sets up, and attacks that a skill about security quotes.
    """
    injections = (
        SkillThreat("injection", "dangerous", found.pattern, found.line)
        for found in scan(text, "context")
    )
    return (*scan_skill_text(text, is_program=is_program), *injections)


def scan_strictly(text: str, *, is_program: bool) -> tuple[SkillThreat, ...]:
    """Scan a text of a skill that an agent wrote."""
    injections = (
        SkillThreat("injection", "dangerous", found.pattern, found.line)
        for found in scan(text, "strict")
    )
    return (*scan_skill_text(text, is_program=is_program), *injections)


class BlockedSkillError(SkillError):
    """A skill's text contains injected instructions and must not reach the model."""

    def __init__(self, file: Path, notice: str) -> None:
        super().__init__(
            f"{notice} Tell the user, who can read {file} and allow exactly this text with "
            f"`acp-server context trust {shlex.quote(str(file))}`."
        )


def refuse_threats(file: Path, text: str, is_trusted: TrustCheck) -> None:
    """Refuse a file's text that contains injected instructions. Blocks.

    Raises:
        BlockedSkillError: it does, and the user does not trust exactly this content.
    """
    found = scan(text, "context")
    if not found:
        return
    # The digest is read from the file, so trust in an older version does not apply.
    try:
        digest = sha256_of(file.read_bytes())
    except OSError:  # it was deleted: no digest matches
        digest = ""
    if not is_trusted(file.resolve(), digest):
        raise BlockedSkillError(file, blocked_line(str(file), found))


def screen_index(index: str) -> str:
    """Return an index without the descriptions that must not reach the model."""
    blocked_lines = {threat.line for threat in scan(index, "context")}
    if not blocked_lines:
        return index
    lines = index.splitlines()
    return "\n".join(
        line.partition(": ")[0] if number in blocked_lines and line.startswith(_BULLET) else line
        for number, line in enumerate(lines, 1)
    )


def find_doubts(change: SkillChange) -> tuple[SkillFinding, ...]:
    """Return the findings that the user must approve before an agent's change. Blocks.

    Only findings that the change adds count: the old content was accepted, or is the user's own.
    """
    before = SkillContents({})
    if change.skill is not None:
        with suppress(OSError):  # it was deleted: the change will fail
            before = collect_skill_files(change.skill.folder)
    new = frozenset(scan_skill(_contents_after(change, before), scan_strictly).findings)
    added = new - frozenset(scan_skill(before, scan_strictly).findings)
    verdict = build_verdict(each for each in added if each.severity != "note")
    asks = decide("agent-created", verdict.level) == "ask"
    return tuple(each for each in verdict.findings if each.severity == "dangerous") if asks else ()


def _contents_after(change: SkillChange, before: SkillContents) -> SkillContents:
    if isinstance(change.effect, SkillMove):
        return before
    edit = change.effect.edit if isinstance(change.effect, SkillCopy) else change.effect
    name = edit.path.relative_to(change.folder).as_posix()
    files = {path: data for path, data in before.files.items() if path != name}
    if edit.new is not None:
        files[name] = edit.new
    return replace(before, files=files)
