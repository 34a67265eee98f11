"""What is read of a folder, and what is only reported."""

import os
from pathlib import Path

import pytest

from skills_store.guard.collecting import MAX_DEPTH, MAX_FILE_BYTES, collect_skill_files
from skills_store.guard.contents import SkillContents


def written(folder: Path, **files: bytes) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.chmod(0o644)
    return folder


def test_files_and_their_executable_bits_are_collected(tmp_path: Path) -> None:
    written(tmp_path, **{"SKILL.md": b"a", "scripts/b.sh": b"b", ".git/config": b"c"})
    (tmp_path / "scripts/b.sh").chmod(0o755)
    assert collect_skill_files(tmp_path) == SkillContents(
        {"SKILL.md": b"a", "scripts/b.sh": b"b"}, frozenset({"scripts/b.sh"})
    )


def test_a_link_is_read_if_inside_and_reported_if_outside(tmp_path: Path) -> None:
    folder = written(tmp_path / "skill", **{"SKILL.md": b"a"})
    written(tmp_path, secret=b"s")
    (folder / "copy.md").symlink_to("SKILL.md")
    (folder / "out").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    assert collect_skill_files(folder) == SkillContents(
        {"SKILL.md": b"a", "copy.md": b"a"}, outside_links=("loop", "out", "up")
    )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_named_pipe_is_reported_without_blocking(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert collect_skill_files(tmp_path) == SkillContents({}, special_files=("pipe",))


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    assert collect_skill_files(tmp_path) == SkillContents({}, unread_paths=("a",))


def test_files_nested_too_deeply_are_reported(tmp_path: Path) -> None:
    deep = "/".join("d" * (MAX_DEPTH + 1))
    written(tmp_path, **{f"{deep}/a": b"a"})
    assert collect_skill_files(tmp_path) == SkillContents({}, unread_paths=(f"{deep}/",))


def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        collect_skill_files(tmp_path / "none")
