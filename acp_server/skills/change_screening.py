"""Screens the texts of skills that are installed or that an agent wants to change.

The guard of the skills store is given both scans of the prompt engine: for injected instructions,
and for harmful actions of a skill. The caller handles the findings. What only reads skills does not
import this: the guard and the changes take longer to import than the rest of the skills.
"""

from contextlib import suppress
from dataclasses import replace

from prompt_engine.findings import SkillThreat
from prompt_engine.threats import scan, scan_skill_text
from skills_store.changes import SkillChange, SkillCopy, SkillMove
from skills_store.guard.collecting import collect_skill_files
from skills_store.guard.contents import SkillContents
from skills_store.guard.scanning import scan_skill
from skills_store.guard.verdict import SkillFinding, build_verdict, decide


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
