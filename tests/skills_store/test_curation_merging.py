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
def house(tmp_path: Path) -> SkillHome:
    house = SkillHome(tmp_path)
    for name in ("pdf", "pdf-read"):
        house.apply(ManageCall("create", name, content=skill_document(name)))
    write_file(house, "pdf-read", "assets/page.png", PICTURE)
    return house


def write_file(house: SkillHome, name: str, path: str, data: bytes, mode: int = 0o644) -> None:
    file = house.skills / name / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    file.chmod(mode)


def is_lock(path: str) -> bool:
    return path.endswith(".lock")


def curator(house: SkillHome) -> CuratorSkillEditor:
    return CuratorSkillEditor(house.home, house.roots, house.clock)


def absorb(editor: CuratorSkillEditor, name: str = "pdf-read", into: str = "pdf") -> str:
    call = ManageCall("delete", name, absorbed_into=into)
    return editor.commit(editor.plan(call)).message


def test_the_files_of_an_absorbed_skill_are_moved_with_their_modes(house: SkillHome) -> None:
    write_file(house, "pdf-read", "scripts/read", b"#!/bin/sh\n\xff", SCRIPT_MODE)
    message = absorb(curator(house))
    assert files_below(files_in(house.skills), "pdf") == {
        "pdf/SKILL.md": skill_document("pdf").encode(),
        "pdf/assets/page.png": PICTURE,
        "pdf/scripts/read": b"#!/bin/sh\n\xff",
    }
    assert (house.skills / "pdf/scripts/read").stat().st_mode & 0o777 == SCRIPT_MODE
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
    house: SkillHome, there: dict[str, bytes], expected: str
) -> None:
    for path, data in there.items():
        write_file(house, "pdf", path, data)
    absorb(curator(house))
    found = files_below(files_in(house.skills), "pdf")
    assert found[f"pdf/{expected}"] == PICTURE
    assert {path: found[f"pdf/{path}"] for path in there} == there


def test_a_plain_removal_moves_no_files(house: SkillHome) -> None:
    absorb(curator(house), into="")
    assert list(files_below(files_in(house.skills), "pdf")) == ["pdf/SKILL.md"]


def test_undoing_a_review_run_removes_the_moved_files(house: SkillHome) -> None:
    before = files_in(house.skills, is_hidden=lambda path: path.startswith("."))
    editor = curator(house)
    absorb(editor)
    house.editor.undo(editor.undo_id)
    assert files_in(house.skills, is_hidden=lambda path: path.startswith(".")) == before


def test_a_snapshot_restores_every_byte(house: SkillHome) -> None:
    backups = BackupStore(AgentHome(house.home), house.clock)
    before = files_in(house.skills, is_hidden=is_lock)
    taken = backups.create("before a pass")
    absorb(curator(house))
    assert files_in(house.skills, is_hidden=is_lock) != before
    backups.restore(taken)
    assert files_in(house.skills, is_hidden=is_lock) == before


def test_nothing_is_absorbed_with_files_into_a_pinned_skill(house: SkillHome) -> None:
    house.editor.usage.pin("pdf")
    with pytest.raises(PinnedSkillError):
        absorb(curator(house))
    assert (house.skills / "pdf-read" / "SKILL.md").exists()


def test_no_file_is_moved_into_a_bundled_skill(house: SkillHome) -> None:
    (house.skills / ".bundled_manifest").write_text("pdf:0\n")
    with pytest.raises(BackgroundChangeError):
        absorb(curator(house))
    assert list(files_below(files_in(house.skills), "pdf")) == ["pdf/SKILL.md"]


def test_no_file_is_moved_into_a_skill_outside_the_home(house: SkillHome) -> None:
    write_skill(house.external, "docs")
    with pytest.raises(ReadOnlySkillError):
        absorb(curator(house), into="docs")
    assert (house.skills / "pdf-read" / "SKILL.md").exists()


def test_a_link_is_not_moved(house: SkillHome) -> None:
    (house.skills / "pdf-read" / "assets" / "link").symlink_to("page.png")
    absorb(curator(house))
    assert not (house.skills / "pdf" / "assets" / "link").exists()
