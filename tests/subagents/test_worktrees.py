"""Worktrees of sub-agents: what they begin with, what has changed in them, and their end."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from acp_server.subagents.worktrees import IsolationError, SubAgentWorktree, WorktreeStore
from tests.prompt_engine.sources.trees import write_tree
from tests.support.user_texts import NEEDS_REPOSITORY_WITH_COMMIT

VARIABLES = {"PATH": "/usr/bin:/bin"}


def git(root: Path, *arguments: str) -> str:
    author = ("-c", "user.name=a", "-c", "user.email=a@example.com")
    command = ("git", *author, *arguments)
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout


def make_repository(root: Path, files: Mapping[str, str]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    write_tree(root, files)
    git(root, "init", "--quiet", "--initial-branch=main")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message=begin")
    return root


def open_worktree(home: Path, root: Path) -> SubAgentWorktree:
    return WorktreeStore(home / "records", VARIABLES).create(root)


def changed(worktree: SubAgentWorktree) -> dict[str, tuple[bytes | None, bytes | None]]:
    return {
        each.path.relative_to(worktree.repository).as_posix(): (each.before.data, each.after.data)
        for each in worktree.changes()
    }


def test_it_begins_with_the_present_files_and_leaves_nothing(tmp_path: Path) -> None:
    files = {"a.txt": "a\n", "sub/b.txt": "b\n", ".gitignore": "*.log\n", "gone.txt": "x"}
    root = make_repository(tmp_path / "repository", files)
    write_tree(root, {"a.txt": "a, changed\n", "new.txt": "new\n", "x.log": "ignored"})
    (root / "gone.txt").unlink()
    worktree = open_worktree(tmp_path, root / "sub")
    assert worktree.directory == worktree.tree / "sub"
    assert (worktree.tree / "a.txt").read_text() == "a, changed\n"
    assert (worktree.tree / "new.txt").exists()
    assert not (worktree.tree / "x.log").exists()
    assert not (worktree.tree / "gone.txt").exists()
    assert "M a.txt" in git(worktree.tree, "status", "--short")
    assert changed(worktree) == {}
    worktree.close()
    assert not worktree.parent.exists()
    assert len(git(root, "worktree", "list").splitlines()) == 1
    assert list((tmp_path / "records").iterdir()) == []


def test_changes_are_those_since_the_beginning_committed_or_not(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repository", {"a.txt": "a\n", "b.txt": "b\n", "c": "c\n"})
    write_tree(root, {"c": "changed by the user\n"})
    worktree = open_worktree(tmp_path, root)
    write_tree(worktree.tree, {"a.txt": "A\n", "d/e.txt": "e\n"})
    git(worktree.tree, "add", "--all")
    git(worktree.tree, "commit", "--quiet", "--message=work")
    (worktree.tree / "b.txt").unlink()
    assert changed(worktree) == {
        "a.txt": (b"a\n", b"A\n"),
        "b.txt": (b"b\n", None),
        "d/e.txt": (None, b"e\n"),
    }
    worktree.close()
    assert git(root, "log", "--format=%s") == "begin\n"


def test_neither_filters_nor_hooks_run(tmp_path: Path) -> None:
    root = make_repository(
        tmp_path / "repository", {"a.txt": "a\n", ".gitattributes": "* filter=f"}
    )
    mark = tmp_path / "ran"
    for name in ("smudge", "clean", "process"):
        git(root, "config", f"filter.f.{name}", f"touch {mark}; cat")
    git(root, "config", "core.fsmonitor", f"touch {mark}")
    hook = root / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)
    worktree = open_worktree(tmp_path, root)
    write_tree(worktree.tree, {"a.txt": "A\n"})
    assert changed(worktree) == {"a.txt": (b"a\n", b"A\n")}
    worktree.close()
    assert not mark.exists()


def test_a_link_in_place_of_a_directory_shows_no_other_file(tmp_path: Path) -> None:
    write_tree(tmp_path, {"secret/key.txt": "secret"})
    root = make_repository(tmp_path / "repository", {"docs/key.txt": "text\n"})
    worktree = open_worktree(tmp_path, root)
    (worktree.tree / "docs/key.txt").unlink()
    (worktree.tree / "docs").rmdir()
    (worktree.tree / "docs").symlink_to(tmp_path / "secret")
    assert all(after != b"secret" for _, after in changed(worktree).values())
    (worktree.tree / ".git").write_text(f"gitdir: {tmp_path / 'secret'}\n")
    worktree.changes()
    worktree.close()


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    root = make_repository(tmp_path / "repository", {"a.txt": "a\n"})
    store = WorktreeStore(tmp_path / "records", VARIABLES)
    lives, killed = store.create(root), store.create(root)
    killed.record.close()  # as the system does
    foreign = tmp_path / "records/foreign.json"
    foreign.write_text(f'{{"directory": "{root}", "administration": "{root}"}}')
    store.clean_up()
    assert not killed.parent.exists()
    assert lives.tree.exists()
    assert root.exists()
    assert len(git(root, "worktree", "list").splitlines()) == 2
    lives.close()


def test_it_needs_a_repository_with_a_commit(tmp_path: Path) -> None:
    (tmp_path / "plain").mkdir()
    with pytest.raises(IsolationError, match=NEEDS_REPOSITORY_WITH_COMMIT):
        open_worktree(tmp_path, tmp_path / "plain")
    git(tmp_path / "plain", "init", "--quiet")
    with pytest.raises(IsolationError, match=NEEDS_REPOSITORY_WITH_COMMIT):
        open_worktree(tmp_path, tmp_path / "plain")
    assert list((tmp_path / "records").iterdir()) == []
