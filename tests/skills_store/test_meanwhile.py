"""Between a plan and its commit the world goes on: what was changed meanwhile is not lost."""

import os
from pathlib import Path

import pytest

from skills_store.calls import ManageCall
from skills_store.write_errors import InvalidSuccessorError, NameTakenError, StaleChangeError
from tests.skills_store.skill_home import (
    SkillHome,
    files_in,
    skill_document,
    visible_files,
    write_skill,
)


@pytest.fixture
def skill_home(tmp_path: Path) -> SkillHome:
    return SkillHome(tmp_path)


def create(name: str = "brew", category: str | None = None) -> ManageCall:
    return ManageCall("create", name, content=skill_document(name), category=category)


CHANGED_MEANWHILE = [
    ManageCall("edit", "brew", content=skill_document("brew", "x\n")),
    ManageCall("patch", "brew", old_string="Do it.", new_string="x"),
    ManageCall("write_file", "brew", file_path="references/a.md", file_content="x"),
    ManageCall("remove_file", "brew", file_path="references/a.md"),
    ManageCall("delete", "brew"),
]


@pytest.mark.parametrize("call", CHANGED_MEANWHILE, ids=lambda call: call.action)
def test_a_file_changed_since_planning_is_not_overwritten(
    skill_home: SkillHome, call: ManageCall
) -> None:
    folder = write_skill(skill_home.skills, "brew", references__a_dot_md="a")
    change = skill_home.editor.plan(call)
    (folder / "SKILL.md").write_text(skill_document("brew", "Changed by hand.\n"))
    (folder / "references" / "a.md").write_text("by hand")
    before = visible_files(skill_home.skills)
    with pytest.raises(StaleChangeError):
        skill_home.editor.commit(change)
    assert visible_files(skill_home.skills) == before


def test_a_skill_created_since_planning_prevents_a_creation(skill_home: SkillHome) -> None:
    change = skill_home.editor.plan(create())
    write_skill(skill_home.external, "brew")
    with pytest.raises(NameTakenError):
        skill_home.editor.commit(change)
    assert files_in(skill_home.skills) == {}


def test_a_successor_removed_since_planning_prevents_a_deletion(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew")
    write_skill(skill_home.skills, "tea")
    change = skill_home.editor.plan(ManageCall("delete", "brew", absorbed_into="tea"))
    skill_home.apply(ManageCall("delete", "tea"))
    with pytest.raises(InvalidSuccessorError):
        skill_home.editor.commit(change)


def test_a_copy_made_since_planning_prevents_another_one(skill_home: SkillHome) -> None:
    write_skill(skill_home.bundled, "brew")
    change = skill_home.editor.plan(
        ManageCall("edit", "brew", content=skill_document("brew", "x\n"))
    )
    write_skill(skill_home.skills, "elsewhere/brew")
    with pytest.raises(StaleChangeError):
        skill_home.editor.commit(change)
    assert list(visible_files(skill_home.skills)) == ["elsewhere/brew/SKILL.md"]


def test_a_full_disk_leaves_no_trace_of_a_new_skill(
    skill_home: SkillHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(28, "No space left on device", descriptor)

    change = skill_home.editor.plan(create(category="kitchen"))
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        skill_home.editor.commit(change)
    assert list(skill_home.skills.iterdir()) == []
