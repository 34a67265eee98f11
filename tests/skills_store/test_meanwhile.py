"""Between a plan and its commit the world goes on: what was changed meanwhile is not lost."""

import os
from pathlib import Path

import pytest

from skills_store.calls import ManageCall
from skills_store.write_errors import NameTakenError, OutdatedError, SuccessorError
from tests.skills_store.skill_home import House, document, files_in, visible_files, write_skill


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def create(name: str = "brew", category: str | None = None) -> ManageCall:
    return ManageCall("create", name, content=document(name), category=category)


CHANGED_MEANWHILE = [
    ManageCall("edit", "brew", content=document("brew", "x\n")),
    ManageCall("patch", "brew", old_string="Do it.", new_string="x"),
    ManageCall("write_file", "brew", file_path="references/a.md", file_content="x"),
    ManageCall("remove_file", "brew", file_path="references/a.md"),
    ManageCall("delete", "brew"),
]


@pytest.mark.parametrize("call", CHANGED_MEANWHILE, ids=lambda call: call.action)
def test_what_was_changed_meanwhile_is_not_overwritten(house: House, call: ManageCall) -> None:
    folder = write_skill(house.skills, "brew", references__a_dot_md="a")
    change = house.keeper.plan(call)
    (folder / "SKILL.md").write_text(document("brew", "Changed by hand.\n"))
    (folder / "references" / "a.md").write_text("by hand")
    before = visible_files(house.skills)
    with pytest.raises(OutdatedError):
        house.keeper.commit(change)
    assert visible_files(house.skills) == before


def test_a_skill_of_the_name_that_came_meanwhile_stops_a_creation(house: House) -> None:
    change = house.keeper.plan(create())
    write_skill(house.external, "brew")
    with pytest.raises(NameTakenError):
        house.keeper.commit(change)
    assert files_in(house.skills) == {}


def test_a_successor_that_went_meanwhile_stops_a_deletion(house: House) -> None:
    write_skill(house.skills, "brew")
    write_skill(house.skills, "tea")
    change = house.keeper.plan(ManageCall("delete", "brew", absorbed_into="tea"))
    house.do(ManageCall("delete", "tea"))
    with pytest.raises(SuccessorError):
        house.keeper.commit(change)


def test_a_copy_that_came_meanwhile_stops_another_one(house: House) -> None:
    write_skill(house.bundled, "brew")
    change = house.keeper.plan(ManageCall("edit", "brew", content=document("brew", "x\n")))
    write_skill(house.skills, "elsewhere/brew")
    with pytest.raises(OutdatedError):
        house.keeper.commit(change)
    assert list(visible_files(house.skills)) == ["elsewhere/brew/SKILL.md"]


def test_a_full_disk_leaves_no_trace_of_a_new_skill(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int) -> None:
        raise OSError(28, "No space left on device", descriptor)

    change = house.keeper.plan(create(category="kitchen"))
    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left"):
        house.keeper.commit(change)
    assert list(house.skills.iterdir()) == []
