"""What a run has changed, as its result says and as its patch applies."""

import os
import shutil
from pathlib import Path

import pytest

from acp_server.headless.run.changes import ChangedFile, ChangeTracker, WorkspaceChanges
from tests.headless.run.repositories import create_repository, git

VARIABLES = {"PATH": os.defpath, "HOME": "/nowhere"}


def watch(folder: Path) -> ChangeTracker:
    return ChangeTracker(folder, folder.parent / "home", VARIABLES)


def test_all_kinds_of_changes_are_reported_and_their_patch_applies(tmp_path: Path) -> None:
    folder = create_repository(
        tmp_path / "code",
        {"kept.txt": b"a\n", "gone.txt": b"b\n", "dos.txt": b"a\r\nb\r\n", "data.bin": b"\x00\x01"},
    )
    before = tmp_path / "before"
    shutil.copytree(folder, before)
    with watch(folder) as changes:
        changes.take_first_snapshot()
        (folder / "kept.txt").write_bytes(b"a\nc")
        (folder / "gone.txt").unlink()
        (folder / "dos.txt").write_bytes(b"a\r\nc\r\n")
        (folder / "data.bin").write_bytes(b"\x00\x02\xff")
        (folder / "new name é.sh").write_bytes(b"#!/bin/sh\n")
        (folder / "new name é.sh").chmod(0o755)
        found = changes.compute_changes()
    assert sorted(found.files, key=lambda file: file.path) == [
        ChangedFile("data.bin", "modified"),
        ChangedFile("dos.txt", "modified", 1, 1),
        ChangedFile("gone.txt", "deleted", 0, 1),
        ChangedFile("kept.txt", "modified", 1, 0),
        ChangedFile("new name é.sh", "added", 1, 0),
    ]
    git(before, "apply", "--whitespace=nowarn", "-", stdin=found.patch)
    assert contents(before) == contents(folder)


def contents(folder: Path) -> dict[str, tuple[bytes, bool]]:
    """Return all files but git's own, with whether they may be run."""
    return {
        path.name: (path.read_bytes(), os.access(path, os.X_OK))
        for path in folder.iterdir()
        if path.is_file()
    }


def test_git_filters_hooks_and_the_index_are_not_used(tmp_path: Path) -> None:
    folder = create_repository(
        tmp_path / "code", {"a.txt": b"a\n", ".gitattributes": b"* filter=evil\n"}
    )
    mark = tmp_path / "mark"
    git(folder, "config", "filter.evil.clean", f"touch {mark}")
    git(folder, "config", "core.fsmonitor", f"touch {mark}")
    index = (folder / ".git/index").read_bytes()
    with watch(folder) as changes:
        changes.take_first_snapshot()
        (folder / "a.txt").write_bytes(b"b\n")
        found = changes.compute_changes()
    assert found.files == (ChangedFile("a.txt", "modified", 1, 1),)
    assert not mark.exists()
    assert (folder / ".git/index").read_bytes() == index


def test_changes_made_before_the_run_are_not_attributed_to_it(tmp_path: Path) -> None:
    folder = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    (folder / "a.txt").write_bytes(b"mine\n")
    with watch(folder) as changes:
        changes.take_first_snapshot()
        assert changes.compute_changes() == WorkspaceChanges()


def test_a_directory_without_a_repository_is_compared_too(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    with watch(folder) as changes:
        changes.take_first_snapshot()
        (folder / "a.txt").write_bytes(b"a\n")
        assert changes.compute_changes().files == (ChangedFile("a.txt", "added", 1, 0),)


def test_without_git_the_changes_are_reported_as_unknown(tmp_path: Path) -> None:
    with ChangeTracker(tmp_path, tmp_path / "home", {"PATH": str(tmp_path)}) as changes:
        changes.take_first_snapshot()
        (reason,) = changes.compute_changes().unknown
    assert "git is not installed" in reason


def test_the_snapshot_is_removed_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    folder = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    with watch(folder) as changes:
        changes.take_first_snapshot()
        assert list(temporary.iterdir())
    assert not list(temporary.iterdir())
    assert git(folder, "status", "--short") == ""
