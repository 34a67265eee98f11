"""Whatever is being done to skills when the process dies, every file has its old or new bytes."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from skills_store.calls import ManageCall
from skills_store.document import parse_document
from skills_store.errors import SkillError
from skills_store.undo import BackupStore
from tests.skills_store.crashing import crashes_before_write
from tests.skills_store.skill_home import (
    SkillHome,
    files_in,
    skill_document,
    visible_files,
    write_skill,
)

Files = dict[str, bytes]
MOST_STEPS = 200


@pytest.fixture(autouse=True)
def _without_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a loss of power could tell the difference, and each call takes milliseconds."""

    def sync(_: int) -> None:
        pass

    monkeypatch.setattr(os, "fsync", sync)


@dataclass(frozen=True)
class Case:
    id: str
    call: ManageCall
    least_steps: int = 5


CASES = [
    Case("create", ManageCall("create", "new", content=skill_document("new"), category="kitchen")),
    Case("patch", ManageCall("patch", "brew", old_string="Do it.", new_string="Do that.")),
    Case(
        "patch of a file, unasked",
        ManageCall(
            "patch",
            "brew",
            file_path="references/a.md",
            old_string="a",
            new_string="b",
            origin="review",
        ),
    ),
    Case("edit", ManageCall("edit", "brew", content=skill_document("brew", "New.\n"))),
    Case(
        "write_file",
        ManageCall(
            "write_file", "brew", file_path="scripts/deep/run.sh", file_content="#!/bin/sh\n"
        ),
    ),
    Case("remove_file", ManageCall("remove_file", "brew", file_path="references/a.md")),
    Case("delete", ManageCall("delete", "brew", absorbed_into="tea")),
    Case("delete, unasked", ManageCall("delete", "brew", origin="curator")),
    Case("delete of a category", ManageCall("delete", "kitchen")),
    Case("copy", ManageCall("edit", "shipped", content=skill_document("shipped", "New.\n"))),
    Case(
        "copy into a category", ManageCall("edit", "pans", content=skill_document("pans", "New.\n"))
    ),
]


def create_skill_home(folder: Path) -> SkillHome:
    skill_home = SkillHome(folder)
    write_skill(skill_home.skills, "brew", references__a_dot_md="a", assets__b_dot_txt="b")
    write_skill(skill_home.skills, "tea", references__a_dot_md="a")
    write_skill(skill_home.skills, "kitchen", references__a_dot_md="a", templates__x_dot_md="x")
    write_skill(skill_home.skills, "kitchen/oven", scripts__a_dot_sh="a")
    write_skill(skill_home.skills, "pans/small")
    write_skill(skill_home.bundled, "shipped", scripts__a_dot_sh="a", references__b_dot_md="b")
    write_skill(skill_home.bundled, "pans", scripts__a_dot_sh="a")
    for name in ("brew", "tea"):
        skill_home.editor.usage.record_creation(name, "agent")
    return skill_home


def with_archive(skill_home: SkillHome) -> Files:
    """Return all files, those in the archive by the names they had before."""
    found = visible_files(skill_home.skills)
    archive = skill_home.skills / ".archive"
    for folder in sorted(archive.iterdir()) if archive.is_dir() else ():
        if folder.is_dir() and folder.name != ".making":
            found |= {f"{folder.name}/{path}": data for path, data in files_in(folder).items()}
    return found


def check_state(skill_home: SkillHome, before: Files, after: Files) -> None:
    found = with_archive(skill_home)
    for path in before.keys() | after.keys() | found.keys():
        assert found.get(path) in (before.get(path), after.get(path)), path
    for path in skill_home.skills.rglob("SKILL.md"):
        if ".archive" not in path.parts:
            assert parse_document(path.read_text(), path.parent.name).problems == ()
    json.loads((skill_home.skills / ".usage.json").read_text())


def crash_everywhere(
    folder: Path, work: Callable[[SkillHome], object], stride: int
) -> list[SkillHome]:
    """Return what is left of a house when the work dies at every so many of its steps."""
    crashed: list[SkillHome] = []
    for number in range(1, MOST_STEPS, stride):
        skill_home = create_skill_home(folder / str(number))
        if not crashes_before_write(lambda skill_home=skill_home: work(skill_home), number):
            break
        crashed.append(SkillHome(skill_home.folder))
    return crashed


strides = pytest.mark.parametrize("stride", [41, pytest.param(1, marks=pytest.mark.full)])


@strides
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_a_crash_at_any_step_of_a_change_leaves_the_old_or_new_state(
    tmp_path: Path, case: Case, stride: int
) -> None:
    uncrashed = create_skill_home(tmp_path / "whole")
    before = with_archive(uncrashed)
    uncrashed.apply(case.call)
    after, after_visible = with_archive(uncrashed), visible_files(uncrashed.skills)

    crashed = crash_everywhere(tmp_path, lambda skill_home: skill_home.apply(case.call), stride)
    assert case.least_steps <= len(crashed) * stride < MOST_STEPS - 2
    for skill_home in crashed:
        check_state(skill_home, before, after)
        try:
            skill_home.apply(case.call)  # whoever comes next ends what was begun, or finds it done
        except SkillError:
            if case.call.action == "delete":
                finish_deletion(skill_home, case.call)
        assert visible_files(skill_home.skills) == after_visible


def finish_deletion(skill_home: SkillHome, call: ManageCall) -> None:
    """Bring back what went in part or whole, then delete it again."""
    skill_home.editor.restore(call.name)
    skill_home.apply(call)


@strides
def test_a_crash_during_a_restore_loses_nothing(tmp_path: Path, stride: int) -> None:
    for name in ("brew", "kitchen"):
        call = ManageCall("delete", name)
        before = with_archive(create_skill_home(tmp_path / name / "whole"))

        def work(skill_home: SkillHome, call: ManageCall = call) -> None:
            skill_home.apply(call)
            skill_home.editor.restore(call.name)

        for skill_home in crash_everywhere(tmp_path / name, work, stride):
            check_state(skill_home, before, before)


@strides
def test_a_crash_during_an_undo_is_repaired_by_undoing_again(tmp_path: Path, stride: int) -> None:
    ids = iter(range(10_000))
    calls = [case.call for case in CASES if case.call.origin == "turn"]

    def work(skill_home: SkillHome) -> None:
        skill_home.editor.undo(skill_home.editor.undo_records()[0].id)

    prepared = create_skill_home(tmp_path / "master")
    before = visible_files(prepared.skills)
    changes = [call for call in calls if call.name in {"brew", "new"}]
    for call in [*changes[:5], ManageCall("delete", "brew")]:
        change = prepared.editor.plan(
            ManageCall(
                call.action,
                call.name,
                call.content,
                call.category,
                call.old_string,
                call.new_string,
                file_path=call.file_path,
                file_content=call.file_content,
                origin="curator",
            )
        )
        prepared.editor.commit(change, "a-pass")
    assert visible_files(prepared.skills) != before

    for number in range(1, MOST_STEPS, stride):
        folder = tmp_path / f"copy{next(ids)}"
        shutil.copytree(prepared.folder, folder)
        skill_home = SkillHome(folder)
        died = crashes_before_write(lambda skill_home=skill_home: work(skill_home), number)
        if died and skill_home.editor.undo_records()[0].undone_at is None:
            SkillHome(folder).editor.undo("a-pass")
        assert visible_files(skill_home.skills) == before
        if not died:
            break


@strides
def test_a_crash_during_a_snapshot_restore_is_repaired_by_restoring_again(
    tmp_path: Path, stride: int
) -> None:
    master = create_skill_home(tmp_path / "master")
    before = files_in(master.skills)
    taken = BackupStore(master.editor.home, master.clock).create("test")
    master.apply(ManageCall("delete", "kitchen"))
    master.apply(ManageCall("edit", "brew", content=skill_document("brew", "New.\n")))
    for number in range(1, MOST_STEPS, stride):
        folder = tmp_path / str(number)
        shutil.copytree(master.folder, folder)
        skill_home = SkillHome(folder)
        backups = BackupStore(skill_home.editor.home, skill_home.clock)
        died = crashes_before_write(lambda backups=backups: backups.restore(taken), number)
        if died:
            backups.restore(taken)
        found = files_in(skill_home.skills)
        assert {path: found.get(path) for path in before} == before
        if not died:
            break
