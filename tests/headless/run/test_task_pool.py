"""Many tasks at once: each has its place and its entry, whatever becomes of the others."""

import json
import os
import sys
from pathlib import Path

import anyio
import pytest
from anyio import to_thread

from acp_server.headless.run.task_list import RunTask
from acp_server.headless.run.task_pool import NOT_STARTED_REASON, TaskEntry, TaskPool, worst_outcome
from acp_server.headless.run.worktrees import WorktreeError, WorktreeFactory
from tests.headless.run.repositories import create_repository, git
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

STAND_IN = """\
import json, os, pathlib, signal, sys
prompt = sys.stdin.read()
folder, patch = (sys.argv[sys.argv.index(name) + 1] for name in ("--cwd", "--patch"))
pathlib.Path(folder, "made.txt").write_text(prompt)
pathlib.Path(patch).write_text(prompt)
if prompt == "die":
    os.kill(os.getpid(), signal.SIGKILL)
if prompt == "wait":
    pathlib.Path(patch).with_suffix(".waiting").write_text("now")
    signal.pause()
if prompt == "babble":
    print("no json"); sys.exit(3)
print(json.dumps({"type": "result", "outcome": "done", "text": os.path.basename(folder)}))
"""
"""Does what `acp-server run` does, as far as the pool sees it."""

linux_like = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind")


def pool_in(folder: Path, jobs: int = 4) -> tuple[TaskPool, list[str]]:
    reported: list[str] = []

    async def report(entry: TaskEntry) -> None:
        reported.append(entry.task.id)

    code = create_repository(folder / "code", {"a.txt": b"a\n"})
    output = folder / "output"
    output.mkdir()
    command = (sys.executable, "-S", "-c", STAND_IN)
    trees = WorktreeFactory(code, output / "worktrees")
    return TaskPool(trees, output, _no_options, jobs, command, report), reported


def _no_options(task: RunTask) -> tuple[str, ...]:
    del task
    return ()


def tasks_of(*prompts: str) -> list[RunTask]:
    return [RunTask(id=f"t{number}", prompt=prompt) for number, prompt in enumerate(prompts)]


@linux_like
async def test_a_killed_task_is_named_and_all_others_are_reported(tmp_path: Path) -> None:
    prompts = ["work"] * 40
    prompts[17] = "die"
    pool, reported = pool_in(tmp_path)
    tasks = tasks_of(*prompts)
    await pool.run(tasks)
    outcomes = {task.id: pool.entries[task.id].outcome for task in tasks}
    assert outcomes == {task.id: "done" for task in tasks} | {"t17": "internal_error"}
    assert "SIGKILL" in str(pool.entries["t17"].result["reason"])
    assert sorted(reported) == sorted(outcomes)
    assert git(tmp_path / "code", "worktree", "list").count("\n") == 1
    assert git(tmp_path / "code", "status", "--short") == ""


@linux_like
async def test_each_task_runs_in_its_own_worktree(tmp_path: Path) -> None:
    pool, _ = pool_in(tmp_path)
    await pool.run(tasks_of("a", "b"))
    assert [pool.entries[name].result["text"] for name in ("t0", "t1")] == ["t0", "t1"]
    assert pool.entries["t0"].as_json()["patch"] == str(tmp_path / "output/t0.patch")
    entry = json.loads((tmp_path / "output/t1.json").read_text())
    assert (entry["id"], entry["outcome"]) == ("t1", "done")


async def test_a_task_without_a_result_counts_as_failed(tmp_path: Path) -> None:
    pool, _ = pool_in(tmp_path)
    await pool.run(tasks_of("babble"))
    assert pool.entries["t0"].outcome == "internal_error"
    assert "code 3" in str(pool.entries["t0"].result["reason"])


@linux_like
async def test_on_shutdown_tasks_not_started_are_named_too(tmp_path: Path) -> None:
    pool, _ = pool_in(tmp_path, jobs=1)
    waiting = tmp_path / "output/t0.waiting"
    os.mkfifo(waiting)
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as group:
            group.start_soon(pool.run, tasks_of("wait", "never"))
            await to_thread.run_sync(waiting.read_text)
            group.cancel_scope.cancel()
    assert pool.entries["t1"].result["reason"] == NOT_STARTED_REASON
    assert pool.entries["t0"].outcome == "terminated"
    assert git(tmp_path / "code", "worktree", "list").count("\n") == 1


async def test_a_directory_without_a_commit_has_no_worktrees(tmp_path: Path) -> None:
    with pytest.raises(WorktreeError):
        await WorktreeFactory(tmp_path, tmp_path / "trees").check()


def test_the_worst_task_outcome_is_the_overall_outcome() -> None:
    assert worst_outcome(["done", "denied", "timeout"]) == "timeout"
    assert worst_outcome([]) == "done"
