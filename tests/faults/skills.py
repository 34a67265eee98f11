"""Skill library under disk faults: changes, archive, undo, usage counts and backups."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from skills_store.calls import ManageCall
from skills_store.curation.schedule import CurationSchedule
from skills_store.errors import SkillError
from skills_store.home import AgentHome
from skills_store.undo import BackupStore
from skills_store.usage import SkillUsageStore
from tests.faults.store_case import StoreCase, prepare_nothing
from tests.skills_store.skill_home import SkillHome
from tests.skills_store.test_crashes import CASES, create_skill_home, with_archive

FAILURES = (OSError, SkillError)


def read_skills(folder: Path) -> object:
    """Return all skills, archived ones under their former names."""
    return with_archive(SkillHome(folder))


def make_change_once(call: ManageCall, done: Path) -> Callable[[Path], None]:
    """Return a function that makes a change, unless `done` exists already."""

    def change(folder: Path) -> None:
        skill_home = SkillHome(folder)
        if not (skill_home.skills / done).exists():
            skill_home.apply(call)
            (skill_home.skills / done).parent.mkdir(exist_ok=True)

    return change


def make_change(call: ManageCall) -> Callable[[Path], object]:
    """Return a function that makes a change."""
    return lambda folder: SkillHome(folder).apply(call)


def undo_run(folder: Path) -> None:
    """Undo the review run."""
    SkillHome(folder).editor.undo("a-pass")


def create_run(folder: Path) -> None:
    """Create two changes of one review run."""
    skill_home = create_skill_home(folder)
    for call in (
        ManageCall("patch", "brew", old_string="Do it.", new_string="Do that.", origin="curator"),
        ManageCall("delete", "tea", origin="curator"),
    ):
        skill_home.editor.commit(skill_home.editor.plan(call), "a-pass")


def create_partial_run(folder: Path) -> None:
    """Create one change of an unfinished review run."""
    skill_home = create_skill_home(folder)
    call = ManageCall("patch", "brew", old_string="Do it", new_string="Do that", origin="curator")
    skill_home.editor.commit(skill_home.editor.plan(call), "a-pass")


def continue_run(folder: Path) -> None:
    """Make the second change of a review run."""
    editor = SkillHome(folder).editor
    call = ManageCall("patch", "brew", old_string="that", new_string="this", origin="curator")
    editor.commit(editor.plan(call), "a-pass")


def read_undo_result(folder: Path) -> object:
    """Return the skills that an undo of the run would restore: always all of them."""
    editor = SkillHome(folder).editor
    first = editor.undo_records()[-1].steps[0]
    return (first.copies / "SKILL.md").read_bytes(), read_skills(folder)


def create_pinned_skill(folder: Path) -> None:
    """Create a skill that background reviews may not change."""
    create_skill_home(folder).editor.usage.pin("brew")


def try_delete_pinned(folder: Path) -> None:
    """Try to delete the pinned skill from a background review."""
    with suppress(SkillError):
        SkillHome(folder).apply(ManageCall("delete", "brew", origin="curator"))


def archive_skill(folder: Path) -> None:
    """Create an archived skill."""
    create_skill_home(folder).apply(ManageCall("delete", "brew"))


def restore_skill(folder: Path) -> None:
    """Restore the archived skill."""
    SkillHome(folder).editor.restore("brew")


def read_is_pinned(folder: Path) -> object:
    """Return whether a skill is pinned."""
    return SkillUsageStore(folder).is_pinned("brew")


def create_backup(folder: Path) -> None:
    """Create a backup of all skills."""
    BackupStore(SkillHome(folder).editor.home).create("x")


def read_backups(folder: Path) -> object:
    """Return the complete backups."""
    return {each.reason for each in BackupStore(AgentHome(folder / "home")).backups()}


SKILLS = [
    *(
        StoreCase(
            f"skills: {case.id}",
            create_skill_home,
            make_change(case.call),
            read_skills,
            FAILURES,
            scratch_directory=".making",
        )
        for case in CASES
    ),
    StoreCase("skills: a pass taken back", create_run, undo_run, read_skills, FAILURES),
    StoreCase(
        "skills: a pass that goes on",
        create_partial_run,
        continue_run,
        read_undo_result,
        FAILURES,
    ),
    StoreCase(
        "skills: a pinned one", create_pinned_skill, try_delete_pinned, read_skills, FAILURES
    ),
    StoreCase("skills: back from the archive", archive_skill, restore_skill, read_skills, FAILURES),
    StoreCase(
        "skills: a pin",
        prepare_nothing,
        lambda folder: SkillUsageStore(folder).pin("brew"),
        read_is_pinned,
    ),
    StoreCase("skills: a copy of all", create_skill_home, create_backup, read_backups),
    StoreCase(
        "skills: when they were looked at",
        prepare_nothing,
        lambda folder: CurationSchedule(AgentHome(folder)).record_aging(),
        lambda folder: (folder / "acp/curator/state.json").exists(),
    ),
]
