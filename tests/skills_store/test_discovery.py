"""Every skill below a root is found, and what is wrong costs only itself."""

import os
import sys
from pathlib import Path

import pytest

from skills_store import discovery
from skills_store.discovery import scan_root
from skills_store.root_scan import RootScan
from skills_store.skill import LoadProblem
from tests.skills_store.skill_files import (
    home_root,
    make_files_old,
    skill_text,
    write_file,
    write_skill,
)
from tests.support.user_texts import FRONTMATTER_NO_DESCRIPTION, HAS_NO_DESCRIPTION


def found(root: Path) -> list[str]:
    """The places of the skills that a scan finds."""
    return [skill.qualified_name for skill in scan_root(home_root(root)).skills]


def problems_of(root: Path) -> list[str]:
    """The problems of a scan, with paths relative to the root."""
    return [
        str(each).replace(f"{root}{os.sep}", "") for each in scan_root(home_root(root)).problems
    ]


def test_skills_are_found_with_and_without_a_category(tmp_path: Path) -> None:
    for path in ("top", "coding/git", "coding/deep/est/rust"):
        write_skill(tmp_path / path)
    write_file(tmp_path / "coding/DESCRIPTION.md", "---\ndescription: For code.\n---\n")
    result = scan_root(home_root(tmp_path))
    found_skills = [(skill.category, skill.name, skill.folder) for skill in result.skills]
    assert found_skills == [
        ("", "top", tmp_path / "top"),
        ("coding", "git", tmp_path / "coding/git"),
        ("coding/deep/est", "rust", tmp_path / "coding/deep/est/rust"),
    ]
    assert result.category_descriptions == {"coding": "For code."}
    assert result.problems == ()


def test_a_missing_root_is_empty_until_it_is_created(tmp_path: Path) -> None:
    root = home_root(tmp_path / "none")
    result = scan_root(root)
    assert result == RootScan(root, manifest={str(root.path): (0, 0)})
    assert result.is_current()
    write_skill(root.path / "pdf")
    assert not result.is_current()


@pytest.mark.parametrize(
    "name",
    [".git", ".hub", ".archive", ".venv", "venv", "node_modules", "__pycache__", ".ruff_cache"],
)
def test_some_directories_are_never_searched(tmp_path: Path, name: str) -> None:
    write_skill(tmp_path / name / "lost")
    write_skill(tmp_path / "category" / name / "lost")
    assert found(tmp_path) == []


def test_a_virtual_environment_of_any_name_is_not_searched(tmp_path: Path) -> None:
    write_file(tmp_path / "py312" / "pyvenv.cfg")
    write_skill(tmp_path / "py312" / "lib" / "lost")
    assert found(tmp_path) == []


def test_supporting_files_of_a_skill_are_not_skills(tmp_path: Path) -> None:
    write_skill(tmp_path / "maker")
    for folder in ("references", "templates", "scripts", "assets"):
        write_skill(tmp_path / "maker" / folder / "example")
        write_skill(tmp_path / folder / "category-of-that-name")
    assert len(found(tmp_path)) == 1 + 4


def test_a_skill_may_also_be_a_category(tmp_path: Path) -> None:
    write_skill(write_skill(tmp_path / "outer") / "inner")
    assert found(tmp_path) == ["outer", "outer/inner"]


def test_at_most_six_levels_are_searched(tmp_path: Path) -> None:
    write_skill(tmp_path / "a/b/c/d/e/six")
    write_skill(tmp_path / "a/b/c/d/e/f/seven")
    assert found(tmp_path) == ["a/b/c/d/e/six"]


@pytest.fixture(params=[60, pytest.param(discovery.MAX_DIRECTORIES, marks=pytest.mark.full)])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many directories without a skill are looked at."""
    monkeypatch.setattr(discovery, "MAX_DIRECTORIES", request.param)
    return int(request.param)


def test_directories_without_a_skill_are_counted(tmp_path: Path, most: int) -> None:
    for number in range(most + 10):
        (tmp_path / f"b{number:05}").mkdir()
    write_skill(tmp_path / "a")
    write_skill(tmp_path / "c")
    assert found(tmp_path) == ["a"]
    assert problems_of(tmp_path) == [
        f"{tmp_path}: more than {most} folders without a skill; the rest is not searched"
    ]


def test_a_large_number_of_skills_is_found(tmp_path: Path, most: int) -> None:
    for number in range(most + 10):
        write_skill(tmp_path / f"skill-{number:05}")
    assert len(found(tmp_path)) == most + 10


def test_a_loop_of_links_terminates(tmp_path: Path) -> None:
    write_skill(tmp_path / "a" / "skill")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "skill" / "self").symlink_to(tmp_path / "a" / "skill")
    (tmp_path / "endless").symlink_to(tmp_path / "endless")
    assert found(tmp_path) == ["a/skill"]


def test_a_linked_skill_is_found(tmp_path: Path) -> None:
    write_skill(tmp_path / "elsewhere" / "pdf")
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / "pdf").symlink_to(tmp_path / "elsewhere" / "pdf")
    assert found(tmp_path / "root") == ["pdf"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no FIFOs")
def test_a_non_file_is_reported_without_blocking(tmp_path: Path) -> None:
    write_skill(tmp_path / "good")
    for name in ("fifo", "folder", "device", "dangling"):
        (tmp_path / name).mkdir()
    os.mkfifo(tmp_path / "fifo/SKILL.md")
    (tmp_path / "folder/SKILL.md").mkdir()
    (tmp_path / "device/SKILL.md").symlink_to("/dev/zero")
    (tmp_path / "dangling/SKILL.md").symlink_to("nowhere")
    assert found(tmp_path) == ["good"]
    assert [line.partition(": ")[0] for line in problems_of(tmp_path)] == [
        "dangling/SKILL.md",
        "device/SKILL.md",
        "fifo/SKILL.md",
        "folder/SKILL.md",
    ]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads all")
def test_an_unreadable_skill_is_reported_and_tried_again(tmp_path: Path) -> None:
    write_skill(tmp_path / "closed")
    (tmp_path / "closed/SKILL.md").chmod(0)
    result = scan_root(home_root(tmp_path))
    assert [str(each) for each in result.problems] == [
        f"{tmp_path}/closed/SKILL.md: Permission denied (skipped)"
    ]
    assert not result.is_current()


def test_warnings_name_file_and_line(tmp_path: Path) -> None:
    write_file(tmp_path / "broken/SKILL.md", "---\nname: broken\n\tdescription: x\n---\n")
    write_file(tmp_path / "lower/skill.md", skill_text("lower"))
    write_file(tmp_path / "mute/SKILL.md", "---\nname: mute\n---\n")
    write_file(tmp_path / "odd/SKILL.md", skill_text("even"))
    write_file(tmp_path / "SKILL.md", skill_text("top"))
    write_file(tmp_path / "untold/DESCRIPTION.md", "# Untold\n")
    (tmp_path / "bytes").mkdir()
    (tmp_path / "bytes/SKILL.md").write_bytes(skill_text("bytes").encode() + b"\n\xff\n")
    assert found(tmp_path) == ["bytes", "odd"]
    assert problems_of(tmp_path) == [
        "SKILL.md: a skill needs a folder of its own in the root (skipped)",
        "broken/SKILL.md:3: found a tab character that violates indentation (skipped)",
        "bytes/SKILL.md:8: it holds bytes that are no UTF-8",
        "lower/skill.md: it must be named SKILL.md (skipped)",
        f"mute/SKILL.md:1: {HAS_NO_DESCRIPTION} (skipped)",
        "odd/SKILL.md:2: its name is 'even'; it is called 'odd' like its folder",
        f"untold/DESCRIPTION.md:1: {FRONTMATTER_NO_DESCRIPTION}",
    ]


@pytest.mark.parametrize("name", ["a\nb", "a:b", "a\u202eb", "a\x1bb"])
def test_a_deceptive_name_is_not_loaded(tmp_path: Path, name: str) -> None:
    write_file(tmp_path / name / "SKILL.md", skill_text("x"))
    assert scan_root(home_root(tmp_path)).problems == (
        LoadProblem(
            tmp_path / name, 0, "its name holds characters that no name may hold", is_skipped=True
        ),
    )


def test_unchanged_files_are_not_read_again(tmp_path: Path) -> None:
    for name in ("kept", "odd", "changed"):
        write_skill(tmp_path / name)
    write_file(tmp_path / "odd/SKILL.md", skill_text("even"))
    make_files_old(tmp_path)
    before = scan_root(home_root(tmp_path))
    write_skill(tmp_path / "changed", "Use it now.")
    write_skill(tmp_path / "new")
    after = scan_root(home_root(tmp_path), before)
    reused = [skill.name for skill in after.skills if any(skill is each for each in before.skills)]
    assert reused == ["kept", "odd"]
    assert [skill.description for skill in after.skills] == ["Use it now.", *["Use it."] * 3]
    assert after.problems == before.problems


@pytest.mark.parametrize("change", ["edit", "add", "remove", "rename", "category"])
def test_each_change_is_noticed(tmp_path: Path, change: str) -> None:
    write_skill(tmp_path / "coding/git")
    make_files_old(tmp_path)
    result = scan_root(home_root(tmp_path))
    assert result.is_current()
    if change == "edit":
        write_skill(tmp_path / "coding/git", "Use it!")
    elif change == "add":
        write_skill(tmp_path / "coding/new")
    elif change == "remove":
        (tmp_path / "coding/git/SKILL.md").unlink()
    elif change == "rename":
        (tmp_path / "coding/git").rename(tmp_path / "coding/got")
    else:
        write_file(tmp_path / "coding/DESCRIPTION.md", "---\ndescription: x\n---\n")
    assert not result.is_current()


def test_a_recent_change_is_checked_again(tmp_path: Path) -> None:
    write_skill(tmp_path / "pdf")
    assert not scan_root(home_root(tmp_path)).is_current()
