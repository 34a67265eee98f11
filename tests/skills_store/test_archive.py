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
def skill_home(tmp_path: Path) -> SkillHome:
    return SkillHome(tmp_path)


def delete(skill_home: SkillHome, name: str, into: str = "", reason: str = "") -> None:
    skill_home.apply(ManageCall("delete", name, absorbed_into=into, reason=reason))


def test_a_deleted_skill_is_moved_with_a_record(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "kitchen/brew", references__a_dot_md="a")
    write_skill(skill_home.skills, "tea")
    delete(skill_home, "brew", "tea")
    folder = skill_home.skills / ".archive" / "brew"
    assert files_in(folder) == {
        "SKILL.md": skill_document("brew").encode(),
        "references/a.md": b"a",
    }
    assert skill_home.editor.archive.entries() == (
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
    record = skill_home.editor.usage.record("brew")
    assert record is not None
    assert record.state == "archived"


def test_a_deleted_skill_is_restored_byte_for_byte(skill_home: SkillHome) -> None:
    folder = write_skill(skill_home.skills, "kitchen/brew", scripts__a_dot_sh="#!/bin/sh\n")
    (folder / "scripts" / "a.sh").chmod(0o755)
    before = visible_files(skill_home.skills)
    delete(skill_home, "brew")
    assert visible_files(skill_home.skills) == {}
    assert skill_home.editor.restore("brew") == folder
    assert visible_files(skill_home.skills) == before
    assert (folder / "scripts" / "a.sh").stat().st_mode & 0o777 == 0o755
    assert skill_home.editor.archive.entries() == ()
    record = skill_home.editor.usage.record("brew")
    assert record is not None
    assert record.state == "active"


def test_deleting_a_skill_that_is_also_a_category_keeps_its_siblings(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "kitchen", references__a_dot_md="a", notes_dot_txt="mine")
    write_skill(skill_home.skills, "kitchen/oven", scripts__a_dot_sh="a")
    write_skill(skill_home.skills, "kitchen/deep/down/pan")
    (skill_home.skills / "kitchen" / "DESCRIPTION.md").write_text("---\ndescription: d\n---\n")
    (skill_home.skills / "kitchen" / ".git").mkdir()
    (skill_home.skills / "kitchen" / ".git" / "config").write_text("c")
    before = visible_files(skill_home.skills)
    own_files = {"kitchen/SKILL.md", "kitchen/references/a.md", "kitchen/notes.txt"}
    delete(skill_home, "kitchen")
    assert visible_files(skill_home.skills) == {
        path: data for path, data in before.items() if path not in own_files
    }
    moved = files_in(skill_home.skills / ".archive" / "kitchen")
    assert {f"kitchen/{path}" for path in moved} == own_files
    skill_home.editor.restore("kitchen")
    assert visible_files(skill_home.skills) == before


def test_a_template_named_like_a_document_moves_with_its_skill(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", templates__SKILL_dot_md="a template")
    delete(skill_home, "brew")
    assert visible_files(skill_home.skills) == {}


def test_archived_skills_of_the_same_name_are_all_kept(skill_home: SkillHome) -> None:
    for number in range(3):
        write_skill(skill_home.skills, "brew", skill_document("brew", f"{number}\n"))
        delete(skill_home, "brew")
    names = [entry.folder.name for entry in skill_home.editor.archive.entries()]
    assert names == ["brew-20260101120006", "brew-20260101120003", "brew"]
    folder = skill_home.editor.restore("brew")
    assert (folder / "SKILL.md").read_text() == skill_document("brew", "2\n")


def test_the_chain_of_absorbed_skills_is_followed(skill_home: SkillHome) -> None:
    for name in ("a", "b", "c"):
        write_skill(skill_home.skills, name)
    delete(skill_home, "a", "b")
    delete(skill_home, "b", "c")
    archive = skill_home.editor.archive
    assert [entry.name for entry in archive.successors("a")] == ["a", "b"]
    found = archive.find_destination("a")
    assert found == ArchivedSkill("a", "c", "2026-01-01T12:00:01+00:00")
    assert archive.find_destination("c") is None
    delete(skill_home, "c")
    assert archive.find_destination("a") == ArchivedSkill("a", "", "2026-01-01T12:00:01+00:00")


def test_a_cycle_of_records_terminates(skill_home: SkillHome) -> None:
    for name in ("a", "b"):
        write_skill(skill_home.skills, name)
    delete(skill_home, "a", "b")
    write_skill(skill_home.skills, "a")
    delete(skill_home, "b", "a")
    (skill_home.skills / "a" / "SKILL.md").unlink()
    found = skill_home.editor.archive.find_destination("a")
    assert found is not None
    assert found.absorbed_into == ""


def test_skills_archived_by_hermes_without_a_record_are_found(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills / ".archive", "brew")
    write_skill(skill_home.skills / ".archive", "tea-20250101120000", skill_document("tea"))
    assert skill_home.editor.archive.find_destination("brew") == ArchivedSkill("brew")
    assert skill_home.editor.restore("tea") == skill_home.skills / "tea"
    assert visible_files(skill_home.skills) == {"tea/SKILL.md": skill_document("tea").encode()}


def test_a_record_cannot_point_outside_the_directory(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills / ".archive", "brew")
    records = {"brew": {"name": "brew", "home": "../../evil"}}
    (skill_home.skills / ".archive" / "records.json").write_text(json.dumps(records))
    assert skill_home.editor.restore("brew") == skill_home.skills / "brew"


@pytest.mark.parametrize("name", ["", ".", "..", "records.json", "../tea", "nothing", "\0"])
def test_a_skill_that_is_not_archived_cannot_be_restored(skill_home: SkillHome, name: str) -> None:
    write_skill(skill_home.skills, "tea")
    write_skill(skill_home.skills, "brew")
    delete(skill_home, "brew")
    with pytest.raises(NotArchivedError):
        skill_home.editor.restore(name)


def test_a_skill_is_not_restored_over_another(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew")
    delete(skill_home, "brew")
    write_skill(skill_home.skills, "other/brew")
    with pytest.raises(NameTakenError):
        skill_home.editor.restore("brew")


def test_a_skill_is_not_restored_over_a_file(skill_home: SkillHome) -> None:
    write_skill(skill_home.skills, "brew", references__a_dot_md="a")
    delete(skill_home, "brew")
    (skill_home.skills / "brew" / "references").mkdir(parents=True)
    before = files_in(skill_home.folder)
    with pytest.raises(ArchiveConflictError):
        skill_home.editor.restore("brew")
    assert files_in(skill_home.folder) == before
