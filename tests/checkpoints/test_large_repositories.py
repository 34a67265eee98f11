"""Repositories with many files: git's own index saves reading them, the rest is stored later."""

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import anyio
import pytest

from acp_server.checkpoints.files import FileImage
from acp_server.checkpoints.git import TIMED_OUT, SnapshotTimeoutError
from acp_server.checkpoints.manager import BackgroundTask
from acp_server.checkpoints.objects import ObjectStore, object_name
from acp_server.checkpoints.root_snapshot import RootSnapshot
from acp_server.checkpoints.store import store_directory
from acp_server.checkpoints.workspace_snapshots import MAX_BUSY_FACTOR, busy_factor
from tests.checkpoints.manager_setup import HAS_GIT, CheckpointSetup, create_setup

pytestmark = pytest.mark.skipif(not HAS_GIT, reason="git is not installed")
OLD = 1_000_000_000
"""A time long before any index was written."""


def commit_files(setup: CheckpointSetup, *names: str) -> None:
    """Create a repository of the user with these files."""
    setup.git("init", "-q")
    for name in names:
        os.utime(setup.write_file(name, f"content of {name}\n"), (OLD, OLD))
    setup.git("add", "-A")
    setup.git("commit", "-qm", "one")


def stored_objects(setup: CheckpointSetup) -> ObjectStore:
    """Return the contents that were stored."""
    return ObjectStore(store_directory(setup.config_home, setup.root) / "git" / "objects")


async def test_unchanged_files_of_a_repository_are_not_stored_before_a_turn_changes_them(
    tmp_path: Path,
) -> None:
    setup = create_setup(tmp_path)
    commit_files(setup, "a.txt", "b.txt", "sub/c.txt")
    record = await setup.run_command(lambda: setup.write_file("a.txt", "new\n"))
    assert setup.changed_names(record) == {"a.txt"}
    assert record is not None
    [change] = record.changes
    assert change.before is not None
    assert await setup.manager.read(change.before.blob) == b"content of a.txt\n"
    assert not stored_objects(setup).has(object_name(b"content of b.txt\n"))


@pytest.mark.parametrize("count", [200, pytest.param(100_000, marks=pytest.mark.full)])
async def test_a_repository_of_many_files_keeps_its_checkpoints(tmp_path: Path, count: int) -> None:
    tasks = anyio.create_task_group()

    def spawn(task: BackgroundTask) -> None:
        tasks.start_soon(task)

    setup = create_setup(tmp_path, spawn=spawn)
    names = [f"folder-{number // 100}/file-{number}.txt" for number in range(count)]
    commit_files(setup, *names)
    async with tasks:  # on a busy machine, the first snapshot may end behind its turn
        await setup.run_command(lambda: setup.write_file(names[0], "first\n"))
    later = create_setup(tmp_path)
    record = await later.run_command(lambda: later.write_file(names[-1], "second\n"))
    assert later.changed_names(record) == {names[-1]}
    assert record is not None
    [change] = record.changes
    assert change.before is not None
    assert await later.manager.read(change.before.blob) == f"content of {names[-1]}\n".encode()
    assert later.omitted(record) == {}


async def test_what_a_command_changes_in_a_subdirectory_that_is_the_root_is_found(
    tmp_path: Path,
) -> None:
    outer = create_setup(tmp_path)
    commit_files(outer, "a.txt", "sub/c.txt")
    (tmp_path / "workspace/sub/workspace").mkdir()
    inner = create_setup(tmp_path / "workspace/sub")
    inner.git("-C", str(outer.root), "add", "-A")
    record = await inner.run_command(lambda: inner.write_file("new.txt"))
    assert inner.changed_names(record) == {"new.txt"}


async def test_an_index_that_names_files_outside_of_the_repository_is_not_used(
    tmp_path: Path,
) -> None:
    setup = create_setup(tmp_path)
    commit_files(setup, "a.txt", "xx/b.txt")
    setup.git("update-index", "--index-version", "2")
    index = setup.root / ".git/index"
    content = index.read_bytes()[:-20].replace(b"xx/b.txt", b"../b.txt")
    index.write_bytes(content + hashlib.sha1(content, usedforsecurity=False).digest())
    (tmp_path / "b.txt").write_text("content of xx/b.txt\n")
    record = await setup.run_command(lambda: setup.write_file("a.txt", "new\n"))
    assert setup.changed_names(record) == {"a.txt"}
    assert stored_objects(setup).has(object_name(b"content of xx/b.txt\n"))


def convert_line_ends(setup: CheckpointSetup) -> None:
    """Have git store other line ends than the files have."""
    setup.write_file(".gitattributes", "*.txt text eol=crlf\n")
    setup.write_file("a.txt", "one\r\ntwo\r\n")


def run_a_filter(setup: CheckpointSetup) -> None:
    """Have git store other letters than the files have, of the same number."""
    setup.git("config", "filter.swap.clean", "tr a-z b-za")
    setup.git("config", "filter.swap.smudge", "tr b-za a-z")
    setup.write_file(".gitattributes", "*.txt filter=swap\n")


def assume_unchanged(setup: CheckpointSetup) -> None:
    """Have git not look at a file any more, which then changes."""
    setup.git("add", "-A")
    setup.git("update-index", "--assume-unchanged", "a.txt")
    setup.write_file("a.txt", "changed unseen\n")


def skip_worktree(setup: CheckpointSetup) -> None:
    """Have git leave a file out, which is there nevertheless."""
    setup.git("add", "-A")
    setup.git("update-index", "--skip-worktree", "a.txt")
    setup.write_file("a.txt", "changed unseen\n")


def split_the_index(setup: CheckpointSetup) -> None:
    """Have git keep most of its index in another file."""
    setup.git("add", "-A")
    setup.git("update-index", "--split-index")


def damage_the_index(setup: CheckpointSetup) -> None:
    """Leave an index that git cannot read."""
    (setup.root / ".git/index").write_bytes(b"DIRC but no index")


def change_after_staging(setup: CheckpointSetup) -> None:
    """Leave a file of the staged one's size, changed within the second in which it was staged."""
    setup.write_file("a.txt", "content of A.txt\n")
    setup.git("add", "-A")
    setup.write_file("a.txt", "CONTENT of A.txt\n")


@pytest.mark.parametrize(
    "prepare",
    [
        convert_line_ends,
        run_a_filter,
        assume_unchanged,
        skip_worktree,
        split_the_index,
        damage_the_index,
        change_after_staging,
    ],
)
async def test_files_are_stored_byte_for_byte_whatever_git_knows_of_them(
    tmp_path: Path, prepare: Callable[[CheckpointSetup], None]
) -> None:
    setup = create_setup(tmp_path)
    commit_files(setup, "a.txt", "b.txt")
    prepare(setup)
    if prepare not in {damage_the_index, assume_unchanged, skip_worktree, change_after_staging}:
        setup.git("add", "-A")
    expected = (setup.root / "a.txt").read_bytes()
    record = await setup.run_command(lambda: setup.write_file("a.txt", "by the command\n"))
    assert record is not None
    change = next(each for each in record.changes if each.path.endswith("a.txt"))
    assert change.before is not None
    assert await setup.manager.read(change.before.blob) == expected


async def test_contents_that_the_repository_lost_are_no_reason_to_fail(tmp_path: Path) -> None:
    setup = create_setup(tmp_path)
    commit_files(setup, "a.txt", "b.txt")
    blob = object_name(b"content of a.txt\n")
    lost = setup.root / ".git/objects" / blob[:2] / blob[2:]

    def change_and_lose() -> None:
        setup.write_file("a.txt", "new\n")
        lost.unlink()

    record = await setup.run_command(change_and_lose)
    assert setup.changed_names(record) == {"a.txt"}


async def test_files_that_time_did_not_suffice_for_are_stored_after_the_turn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def time_out(_snapshot: RootSnapshot, names: Sequence[str], *_options: str) -> None:
        if names:
            raise SnapshotTimeoutError(TIMED_OUT)

    tasks = anyio.create_task_group()

    def spawn(task: BackgroundTask) -> None:
        tasks.start_soon(task)

    setup = create_setup(tmp_path, spawn=spawn)
    async with tasks:
        setup.write_file("a.txt", "old\n")
        with monkeypatch.context() as slow:
            slow.setattr(RootSnapshot, "_update", time_out)
            record = await setup.run_command(lambda: setup.write_file("a.txt", "first\n"))
        assert setup.omitted(record) == {"a.txt": TIMED_OUT}
    assert stored_objects(setup).has(object_name(b"first\n"))
    later = create_setup(tmp_path)
    record = await later.run_command(lambda: later.write_file("a.txt", "second\n"))
    assert record is not None
    before = FileImage("file", b"first\n", 0o644).version
    assert [each.before for each in record.changes] == [before]
    assert later.notices == []


@pytest.mark.parametrize(("load", "factor"), [(0.1, 1.0), (4.0, 2.0), (99.0, MAX_BUSY_FACTOR)])
def test_a_turn_waits_longer_for_its_snapshot_while_the_machine_is_busy(
    monkeypatch: pytest.MonkeyPatch, load: float, factor: float
) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (load, load, load))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    assert busy_factor() == factor
