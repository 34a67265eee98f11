"""Directories of attempts: what a kill left is removed, and nothing else."""

import tempfile
from pathlib import Path

import pytest

from acp_server.fleet.git import FleetGit
from acp_server.fleet.workspaces import WorkspaceFactory, sweep_dead_workspaces
from acp_server.headless.run.changes import ChangeTracker
from tests.fleet.fleets import units_of
from tests.headless.run.repositories import create_repository, git


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    directory = tmp_path / "scratch"
    directory.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(directory))
    return directory


def test_directories_of_dead_processes_are_removed_with_their_worktrees(
    tmp_path: Path, scratch: Path
) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    (unit,) = units_of(repository, "work")
    factory = WorkspaceFactory(FleetGit({"PATH": "/usr/bin:/bin"}))
    with factory.create("one", unit, repository, b""):
        assert sweep_dead_workspaces() == 0
        factory.release_lock()
        assert sweep_dead_workspaces() == 1
        assert [*scratch.iterdir()] == []
        assert git(repository, "worktree", "list").count("\n") == 1


def test_the_directory_of_a_run_is_kept_while_it_lives(tmp_path: Path, scratch: Path) -> None:
    with ChangeTracker(tmp_path, tmp_path / "home", {}):
        sweep_dead_workspaces()
        (mine,) = scratch.iterdir()
    (scratch / "acp-run-dead").mkdir()
    (scratch / "acp-run-dead" / "owner.lock").touch()
    (scratch / "acp-run-unknown").mkdir()
    (scratch / "acp-tasks-link").symlink_to(tmp_path)
    sweep_dead_workspaces()
    assert not mine.exists()
    assert sorted(each.name for each in scratch.iterdir()) == ["acp-run-unknown", "acp-tasks-link"]
    assert tmp_path.is_dir()
