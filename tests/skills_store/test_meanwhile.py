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
def house(tmp_path: Path) -> SkillHome:
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
    house: SkillHome, call: ManageCall
) -> None:
    folder = write_skill(house.skills, "brew", references__a_dot_md="a")
    change = house.editor.plan(call)
    (folder / "SKILL.md").write_text(skill_document("brew", "Changed by hand.\n"))
    (folder / "references" / "a.md").write_text("by hand")
    before = visible_files(house.skills)
    with pytest.raises(StaleChangeError):
        house.editor.commit(change)
    assert visible_files(house.skills) == before


def test_a_skill_created_since_planning_prevents_a_creation(house: SkillHome) -> None:
    change = house.editor.plan(create())
    write_skill(house.external, "brew")
    with pytest.raises(NameTakenError):
        house.editor.commit(change)
    assert files_in(house.skills) == {}


def test_a_successor_removed_since_planning_prevents_a_deletion(house: SkillHome) -> None:
    write_skill(house.skills, "brew")
    write_skill(house.skills, "tea")
    change = house.editor.plan(ManageCall("delete", "brew", absorbed_into="tea"))
    house.apply(ManageCall("delete", "tea"))
    with pytest.raises(InvalidSuccessorError):
        house.editor.commit(change)


def test_a_copy_made_since_planning_prevents_another_one(house: SkillHome) -> None:
    write_skill(house.bundled, "brew")
    change = house.editor.plan(ManageCall("edit", "brew", content=skill_document("brew", "x\n")))
    write_skill(house.skills, "elsewhere/brew")
    with pytest.raises(StaleChangeError):
        house.editor.commit(change)
    assert list(visible_files(house.skills)) == ["elsewhere/brew/SKILL.md"]


def test_a_full_disk_leaves_no_trace_of_a_new_skill(
    house: SkillHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(28, "No space left on device", descriptor)

    change = house.editor.plan(create(category="kitchen"))
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        house.editor.commit(change)
    assert list(house.skills.iterdir()) == []
