"""Skill library under disk faults: changes, archive, undo, usage counts and backups."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from skills_store.backups import Backups
from skills_store.calls import ManageCall
from skills_store.curation.schedule import Schedule
from skills_store.errors import SkillError
from skills_store.home import Home
from skills_store.usage import Usage
from tests.faults.store_case import Store, nothing
from tests.skills_store.skill_home import House
from tests.skills_store.test_crashes import CASES, furnish, with_archive

FAILURES = (OSError, SkillError)


def skills_read(folder: Path) -> object:
    """Return all skills, archived ones under their former names."""
    return with_archive(House(folder))


def made(call: ManageCall, done: Path) -> Callable[[Path], None]:
    """Return a function that makes a change, unless `done` exists already."""

    def change(folder: Path) -> None:
        house = House(folder)
        if not (house.skills / done).exists():
            house.do(call)
            (house.skills / done).parent.mkdir(exist_ok=True)

    return change


def changing(call: ManageCall) -> Callable[[Path], object]:
    """Return a function that makes a change."""
    return lambda folder: House(folder).do(call)


def taken_back(folder: Path) -> None:
    """Undo the review run."""
    House(folder).keeper.undo("a-pass")


def with_a_pass(folder: Path) -> None:
    """Create two changes of one review run."""
    house = furnish(folder)
    for call in (
        ManageCall("patch", "brew", old_string="Do it.", new_string="Do that.", origin="curator"),
        ManageCall("delete", "tea", origin="curator"),
    ):
        house.keeper.commit(house.keeper.plan(call), "a-pass")


def with_a_part_of_a_pass(folder: Path) -> None:
    """Create one change of an unfinished review run."""
    house = furnish(folder)
    call = ManageCall("patch", "brew", old_string="Do it", new_string="Do that", origin="curator")
    house.keeper.commit(house.keeper.plan(call), "a-pass")


def go_on_with_the_pass(folder: Path) -> None:
    """Make the second change of a review run."""
    keeper = House(folder).keeper
    call = ManageCall("patch", "brew", old_string="that", new_string="this", origin="curator")
    keeper.commit(keeper.plan(call), "a-pass")


def undone_elsewhere(folder: Path) -> object:
    """Return the skills that an undo of the run would restore: always all of them."""
    keeper = House(folder).keeper
    first = keeper.passes()[-1].steps[0]
    return (first.copies / "SKILL.md").read_bytes(), skills_read(folder)


def pinned(folder: Path) -> None:
    """Create a skill that background reviews may not change."""
    furnish(folder).keeper.usage.pin("brew")


def not_deleted(folder: Path) -> None:
    """Try to delete the pinned skill from a background review."""
    with suppress(SkillError):
        House(folder).do(ManageCall("delete", "brew", origin="curator"))


def away(folder: Path) -> None:
    """Create an archived skill."""
    furnish(folder).do(ManageCall("delete", "brew"))


def back(folder: Path) -> None:
    """Restore the archived skill."""
    House(folder).keeper.restore("brew")


def counted(folder: Path) -> object:
    """Return whether a skill is pinned."""
    return Usage(folder).is_pinned("brew")


def copied(folder: Path) -> None:
    """Create a backup of all skills."""
    Backups(House(folder).keeper.home).take("x")


def copies(folder: Path) -> object:
    """Return the complete backups."""
    return {each.reason for each in Backups(Home(folder / "home")).snapshots()}


SKILLS = [
    *(
        Store(
            f"skills: {case.id}",
            furnish,
            changing(case.call),
            skills_read,
            FAILURES,
            cleared_later=".making",
        )
        for case in CASES
    ),
    Store("skills: a pass taken back", with_a_pass, taken_back, skills_read, FAILURES),
    Store(
        "skills: a pass that goes on",
        with_a_part_of_a_pass,
        go_on_with_the_pass,
        undone_elsewhere,
        FAILURES,
    ),
    Store("skills: a pinned one", pinned, not_deleted, skills_read, FAILURES),
    Store("skills: back from the archive", away, back, skills_read, FAILURES),
    Store("skills: a pin", nothing, lambda folder: Usage(folder).pin("brew"), counted),
    Store("skills: a copy of all", furnish, copied, copies),
    Store(
        "skills: when they were looked at",
        nothing,
        lambda folder: Schedule(Home(folder)).note_ageing(),
        lambda folder: (folder / "acp/curator/state.json").exists(),
    ),
]
