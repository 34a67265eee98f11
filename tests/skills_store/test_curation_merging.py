"""Skills that are merged: their files come along byte for byte, and a snapshot undoes all of it."""

from pathlib import Path

import pytest

from skills_store.calls import ManageCall
from skills_store.curation.merging import CuratorSkillEditor
from skills_store.home import AgentHome
from skills_store.undo import BackupStore
from skills_store.write_errors import BackgroundChangeError, PinnedSkillError, ReadOnlySkillError
from tests.skills_store.skill_home import (
    SkillHome,
    files_below,
    files_in,
    skill_document,
    write_skill,
)

PICTURE = bytes(range(256))
SCRIPT_MODE = 0o755


@pytest.fixture
def skill_home(tmp_path: Path) -> SkillHome:
    skill_home = SkillHome(tmp_path)
    for name in ("pdf", "pdf-read"):
        skill_home.apply(ManageCall("create", name, content=skill_document(name)))
    write_file(skill_home, "pdf-read", "assets/page.png", PICTURE)
    return skill_home


def write_file(skill_home: SkillHome, name: str, path: str, data: bytes, mode: int = 0o644) -> None:
    file = skill_home.skills / name / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    file.chmod(mode)


def is_lock(path: str) -> bool:
    return path.endswith(".lock")


def curator(skill_home: SkillHome) -> CuratorSkillEditor:
    return CuratorSkillEditor(skill_home.home, skill_home.roots, skill_home.clock)


def absorb(editor: CuratorSkillEditor, name: str = "pdf-read", into: str = "pdf") -> str:
    call = ManageCall("delete", name, absorbed_into=into)
    return editor.commit(editor.plan(call)).message


def test_the_files_of_an_absorbed_skill_are_moved_with_their_modes(skill_home: SkillHome) -> None:
    write_file(skill_home, "pdf-read", "scripts/read", b"#!/bin/sh\n\xff", SCRIPT_MODE)
    message = absorb(curator(skill_home))
    assert files_below(files_in(skill_home.skills), "pdf") == {
        "pdf/SKILL.md": skill_document("pdf").encode(),
        "pdf/assets/page.png": PICTURE,
        "pdf/scripts/read": b"#!/bin/sh\n\xff",
    }
    assert (skill_home.skills / "pdf/scripts/read").stat().st_mode & 0o777 == SCRIPT_MODE
    assert "assets/page.png as assets/page.png" in message


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        ({"assets/page.png": PICTURE}, "assets/page.png"),
        ({"assets/page.png": b"other"}, "assets/pdf-read/page.png"),
        (
            {"assets/page.png": b"other", "assets/pdf-read/page.png": b"too"},
            "assets/pdf-read-2/page.png",
        ),
        ({"assets/page.png/in": b"a folder"}, "assets/pdf-read/page.png"),
    ],
    ids=["the same file", "another file", "twice another", "a folder"],
)
def test_a_file_with_a_conflicting_name_is_renamed(
    skill_home: SkillHome, there: dict[str, bytes], expected: str
) -> None:
    for path, data in there.items():
        write_file(skill_home, "pdf", path, data)
    absorb(curator(skill_home))
    found = files_below(files_in(skill_home.skills), "pdf")
    assert found[f"pdf/{expected}"] == PICTURE
    assert {path: found[f"pdf/{path}"] for path in there} == there


def test_a_plain_removal_moves_no_files(skill_home: SkillHome) -> None:
    absorb(curator(skill_home), into="")
    assert list(files_below(files_in(skill_home.skills), "pdf")) == ["pdf/SKILL.md"]


def test_undoing_a_review_run_removes_the_moved_files(skill_home: SkillHome) -> None:
    before = files_in(skill_home.skills, is_hidden=lambda path: path.startswith("."))
    editor = curator(skill_home)
    absorb(editor)
    skill_home.editor.undo(editor.undo_id)
    assert files_in(skill_home.skills, is_hidden=lambda path: path.startswith(".")) == before


def test_a_snapshot_restores_every_byte(skill_home: SkillHome) -> None:
    backups = BackupStore(AgentHome(skill_home.home), skill_home.clock)
    before = files_in(skill_home.skills, is_hidden=is_lock)
    taken = backups.create("before a pass")
    absorb(curator(skill_home))
    assert files_in(skill_home.skills, is_hidden=is_lock) != before
    backups.restore(taken)
    assert files_in(skill_home.skills, is_hidden=is_lock) == before


def test_nothing_is_absorbed_with_files_into_a_pinned_skill(skill_home: SkillHome) -> None:
    skill_home.editor.usage.pin("pdf")
    with pytest.raises(PinnedSkillError):
        absorb(curator(skill_home))
    assert (skill_home.skills / "pdf-read" / "SKILL.md").exists()


def test_no_file_is_moved_into_a_bundled_skill(skill_home: SkillHome) -> None:
    (skill_home.skills / ".bundled_manifest").write_text("pdf:0\n")
    with pytest.raises(BackgroundChangeError):
        absorb(curator(skill_home))
    assert list(files_below(files_in(skill_home.skills), "pdf")) == ["pdf/SKILL.md"]


def test_no_file_is_moved_into_a_skill_outside_the_home(skill_home: SkillHome) -> None:
    write_skill(skill_home.external, "docs")
    with pytest.raises(ReadOnlySkillError):
        absorb(curator(skill_home), into="docs")
    assert (skill_home.skills / "pdf-read" / "SKILL.md").exists()


def test_a_link_is_not_moved(skill_home: SkillHome) -> None:
    (skill_home.skills / "pdf-read" / "assets" / "link").symlink_to("page.png")
    absorb(curator(skill_home))
    assert not (skill_home.skills / "pdf" / "assets" / "link").exists()
