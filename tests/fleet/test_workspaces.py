"""Directories of attempts: what a kill left is removed, and nothing else."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from acp_server.fleet.git import FleetGit
from acp_server.fleet.workspaces import WorkspaceFactory, sweep_dead_workspaces
from acp_server.headless.run.changes import ChangeTracker
from tests.fleet.fleets import units_of
from tests.headless.run.repositories import create_repository, git
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


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


CREATE = """
import os, pathlib, sys, tempfile
from acp_server.fleet.git import FleetGit
from acp_server.fleet.process_guard import ProcessGuard
from acp_server.fleet.unit import Unit, WorkspaceSource
from acp_server.fleet.workspaces import WorkspaceFactory
scratch, code, commit, path, kills = sys.argv[1:]
tempfile.tempdir = scratch
unit = Unit("key", "t0", "t0", "work", WorkspaceSource(code, commit))

def create(handle):
    factory = WorkspaceFactory(FleetGit({"PATH": path}, ProcessGuard()))
    with factory.create(handle, unit, pathlib.Path(code), b""):
        os._exit(0)

def die_before(call):
    for name in ("mkdir", "write_text"):
        def counted(*arguments, method=getattr(pathlib.Path, name), **options):
            die_before.left -= 1
            if die_before.left < 0:
                os._exit(9)
            return method(*arguments, **options)
        setattr(pathlib.Path, name, counted)
    die_before.left = call

for call in range(int(kills)):
    if not os.fork():
        die_before(call)
        create(f"one{call}")
    os.wait()
create("last")
"""
"""Creates a worktree, and in children that die before each of their first writes as many times."""


def create_and_die(
    scratch: Path, repository: Path, path: str, kills: int
) -> "subprocess.Popen[bytes]":
    commit = git(repository, "rev-parse", "HEAD").strip()
    arguments = (str(scratch), str(repository), commit, path, str(kills))
    return subprocess.Popen((sys.executable, "-c", CREATE, *arguments))


def test_a_sweep_finds_a_worktree_whose_creator_was_killed_before_any_of_its_writes(
    tmp_path: Path, scratch: Path
) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    (repository / ".git/worktrees").mkdir()
    done = create_and_die(scratch, repository, os.defpath, kills=8)
    assert done.wait(HANG_TIMEOUT_SECONDS) == 0
    registered = [*(repository / ".git/worktrees").iterdir()]
    without_link = [each for each in registered if not (each / "gitdir").exists()]
    assert (len(without_link), len(registered)) == (1, 4)
    assert sweep_dead_workspaces() == 8
    assert [*scratch.iterdir()] == []
    assert not (repository / ".git/worktrees").exists()


def test_git_ends_with_a_driver_that_is_killed_during_a_checkout(
    tmp_path: Path, scratch: Path
) -> None:
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n"})
    began = tmp_path / "began"
    os.mkfifo(began)
    wrapper = tmp_path / "bin" / "git"
    wrapper.parent.mkdir()
    wrapper.write_text(
        f"""#!/bin/sh
case "$*" in *read-tree*) echo $$ >"{began}"; exec sleep 1000 ;; esac
PATH={os.defpath} exec git "$@"
"""
    )
    wrapper.chmod(0o755)
    path = f"{wrapper.parent}:{os.defpath}"
    driver = create_and_die(scratch, repository, path, kills=0)
    checkout = psutil.Process(int(began.read_text()))
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    checkout.wait(HANG_TIMEOUT_SECONDS)
    assert sweep_dead_workspaces() == 1
    assert [*scratch.iterdir()] == []
    assert git(repository, "worktree", "list").count("\n") == 1


@pytest.mark.parametrize("is_special", [0, 1])
def test_a_worktree_is_one_that_git_knows(tmp_path: Path, scratch: Path, is_special: int) -> None:
    """A sparse checkout is made by git itself, which copies the user's choice."""
    repository = create_repository(tmp_path / "code", {"a.txt": b"a\n", "b.txt": b"b\n"})
    if is_special:
        git(repository, "sparse-checkout", "set", "--no-cone", "a.txt")
    (unit,) = units_of(repository, "work")
    factory = WorkspaceFactory(FleetGit({"PATH": os.defpath}))
    with factory.create("one", unit, repository, b"") as workspace:
        assert git(workspace.tree, "status", "--porcelain") == ""
        assert git(workspace.tree, "rev-parse", "HEAD").strip() == unit.workspace.commit
        assert str(workspace.tree) in git(repository, "worktree", "list")
        git(repository, "worktree", "prune")
        assert (workspace.tree / "b.txt").exists() != is_special
        assert git(workspace.tree, "fsck", "--no-progress") == ""
    factory.close()
    assert [*scratch.iterdir()] == []
    assert git(repository, "worktree", "list").count("\n") == 1
