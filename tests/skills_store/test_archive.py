"""Where deleted skills go, what is told of them, and the way back."""

import json
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import pytest

from skills_store.archive import ArchiveEntry
from skills_store.calls import ManageCall
from skills_store.skill import ArchivedSkill
from skills_store.write_errors import ArchiveConflictError, NameTakenError, NotArchivedError
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


def delete(house: SkillHome, name: str, into: str = "", reason: str = "") -> None:
    house.apply(ManageCall("delete", name, absorbed_into=into, reason=reason))


def test_a_deleted_skill_is_moved_with_a_record(house: SkillHome) -> None:
    write_skill(house.skills, "kitchen/brew", references__a_dot_md="a")
    write_skill(house.skills, "tea")
    delete(house, "brew", "tea")
    folder = house.skills / ".archive" / "brew"
    assert files_in(folder) == {
        "SKILL.md": skill_document("brew").encode(),
        "references/a.md": b"a",
    }
    assert house.editor.archive.entries() == (
        ArchiveEntry(
            "brew",
            folder,
            PurePosixPath("kitchen/brew"),
            datetime(2026, 1, 1, 12, 0, 1, tzinfo=UTC),
            "absorbed into tea",
            "tea",
            "turn",
        ),
    )
    record = house.editor.usage.record("brew")
    assert record is not None
    assert record.state == "archived"


def test_a_deleted_skill_is_restored_byte_for_byte(house: SkillHome) -> None:
    folder = write_skill(house.skills, "kitchen/brew", scripts__a_dot_sh="#!/bin/sh\n")
    (folder / "scripts" / "a.sh").chmod(0o755)
    before = visible_files(house.skills)
    delete(house, "brew")
    assert visible_files(house.skills) == {}
    assert house.editor.restore("brew") == folder
    assert visible_files(house.skills) == before
    assert (folder / "scripts" / "a.sh").stat().st_mode & 0o777 == 0o755
    assert house.editor.archive.entries() == ()
    record = house.editor.usage.record("brew")
    assert record is not None
    assert record.state == "active"


def test_deleting_a_skill_that_is_also_a_category_keeps_its_siblings(house: SkillHome) -> None:
    write_skill(house.skills, "kitchen", references__a_dot_md="a", notes_dot_txt="mine")
    write_skill(house.skills, "kitchen/oven", scripts__a_dot_sh="a")
    write_skill(house.skills, "kitchen/deep/down/pan")
    (house.skills / "kitchen" / "DESCRIPTION.md").write_text("---\ndescription: d\n---\n")
    (house.skills / "kitchen" / ".git").mkdir()
    (house.skills / "kitchen" / ".git" / "config").write_text("c")
    before = visible_files(house.skills)
    own_files = {"kitchen/SKILL.md", "kitchen/references/a.md", "kitchen/notes.txt"}
    delete(house, "kitchen")
    assert visible_files(house.skills) == {
        path: data for path, data in before.items() if path not in own_files
    }
    moved = files_in(house.skills / ".archive" / "kitchen")
    assert {f"kitchen/{path}" for path in moved} == own_files
    house.editor.restore("kitchen")
    assert visible_files(house.skills) == before


def test_a_template_named_like_a_document_moves_with_its_skill(house: SkillHome) -> None:
    write_skill(house.skills, "brew", templates__SKILL_dot_md="a template")
    delete(house, "brew")
    assert visible_files(house.skills) == {}


def test_archived_skills_of_the_same_name_are_all_kept(house: SkillHome) -> None:
    for number in range(3):
        write_skill(house.skills, "brew", skill_document("brew", f"{number}\n"))
        delete(house, "brew")
    names = [entry.folder.name for entry in house.editor.archive.entries()]
    assert names == ["brew-20260101120006", "brew-20260101120003", "brew"]
    folder = house.editor.restore("brew")
    assert (folder / "SKILL.md").read_text() == skill_document("brew", "2\n")


def test_the_chain_of_absorbed_skills_is_followed(house: SkillHome) -> None:
    for name in ("a", "b", "c"):
        write_skill(house.skills, name)
    delete(house, "a", "b")
    delete(house, "b", "c")
    archive = house.editor.archive
    assert [entry.name for entry in archive.successors("a")] == ["a", "b"]
    found = archive.find_destination("a")
    assert found == ArchivedSkill("a", "c", "2026-01-01T12:00:01+00:00")
    assert archive.find_destination("c") is None
    delete(house, "c")
    assert archive.find_destination("a") == ArchivedSkill("a", "", "2026-01-01T12:00:01+00:00")


def test_a_cycle_of_records_terminates(house: SkillHome) -> None:
    for name in ("a", "b"):
        write_skill(house.skills, name)
    delete(house, "a", "b")
    write_skill(house.skills, "a")
    delete(house, "b", "a")
    (house.skills / "a" / "SKILL.md").unlink()
    found = house.editor.archive.find_destination("a")
    assert found is not None
    assert found.absorbed_into == ""


def test_skills_archived_by_hermes_without_a_record_are_found(house: SkillHome) -> None:
    write_skill(house.skills / ".archive", "brew")
    write_skill(house.skills / ".archive", "tea-20250101120000", skill_document("tea"))
    assert house.editor.archive.find_destination("brew") == ArchivedSkill("brew")
    assert house.editor.restore("tea") == house.skills / "tea"
    assert visible_files(house.skills) == {"tea/SKILL.md": skill_document("tea").encode()}


def test_a_record_cannot_point_outside_the_directory(house: SkillHome) -> None:
    write_skill(house.skills / ".archive", "brew")
    records = {"brew": {"name": "brew", "home": "../../evil"}}
    (house.skills / ".archive" / "records.json").write_text(json.dumps(records))
    assert house.editor.restore("brew") == house.skills / "brew"


@pytest.mark.parametrize("name", ["", ".", "..", "records.json", "../tea", "nothing", "\0"])
def test_a_skill_that_is_not_archived_cannot_be_restored(house: SkillHome, name: str) -> None:
    write_skill(house.skills, "tea")
    write_skill(house.skills, "brew")
    delete(house, "brew")
    with pytest.raises(NotArchivedError):
        house.editor.restore(name)


def test_a_skill_is_not_restored_over_another(house: SkillHome) -> None:
    write_skill(house.skills, "brew")
    delete(house, "brew")
    write_skill(house.skills, "other/brew")
    with pytest.raises(NameTakenError):
        house.editor.restore("brew")


def test_a_skill_is_not_restored_over_a_file(house: SkillHome) -> None:
    write_skill(house.skills, "brew", references__a_dot_md="a")
    delete(house, "brew")
    (house.skills / "brew" / "references").mkdir(parents=True)
    before = files_in(house.folder)
    with pytest.raises(ArchiveConflictError):
        house.editor.restore("brew")
    assert files_in(house.folder) == before
