"""Many tasks by the real command: each a process, which may be killed like any other."""

import json
import os
import re
import sys
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from io import BufferedReader
from pathlib import Path
from typing import cast

import psutil
import pytest

from tests.cli.command_line import start as start_command
from tests.headless.run.pipeline import (
    UNREACHABLE_URL,
    Object,
    PipelineStep,
    make_chat_step,
    parse_line,
)
from tests.headless.run.repositories import create_repository, git
from tests.support.fork_server import ForkedProcess
from tests.support.messages_api import PauseBeforeEvent, ScriptedReply, call, reply
from tests.support.openai_api import OpenAiRequest, openai_api_in_thread

FULL = pytest.mark.full
VICTIM = "task-2"
RUN_TIMEOUT_SECONDS = 600
"""Longer than any run here takes: a limit on hangs, and the pause of an answer that never comes."""
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of this kind")


@dataclass(slots=True)
class Models:
    """Writes a file for each task; never ends its answer to one of them."""

    victim: str | None = None
    is_at_work: threading.Event = field(default_factory=threading.Event)
    """Whether the victim is in the middle of it."""
    asked: Counter[str] = field(default_factory=Counter[str])

    def answer(self, ask: OpenAiRequest) -> ScriptedReply:
        name = ask.last_text.partition(" ")[2].strip()
        if ask.last_text.startswith("Do ") and name == self.victim:
            self.is_at_work.set()
            return reply("Half of it", faults=[PauseBeforeEvent(1, RUN_TIMEOUT_SECONDS)])
        if ask.last_text.startswith("Do "):
            self.asked[name] += 1
            return reply(call("write_file", path=f"{name}.txt", content=f"{name}\n"))
        return reply("Done.")


def list_of(folder: Path, count: int) -> Path:
    """Write a list of tasks, each with its id as what is to be done."""
    names = [f"task-{number + 1}" for number in range(count)]
    file = folder / "tasks.jsonl"
    file.write_text("".join(json.dumps({"id": n, "prompt": f"Do {n}"}) + "\n" for n in names))
    return file


@dataclass(frozen=True, slots=True)
class TaskRun:
    """Running command with many tasks."""

    process: ForkedProcess
    output: BufferedReader

    def events(self) -> list[Object]:
        """Return what the run has printed, when it has ended."""
        printed = self.output.read()
        self.process.wait(RUN_TIMEOUT_SECONDS)
        return [parse_line(line) for line in printed.decode().splitlines()]

    def kill_task(self, name: str) -> None:
        """Kill the process that does a task: it works in a directory of that name.

        Other runs on this machine may have tasks of that name.
        """
        children = psutil.Process(self.process.pid).children()
        (process,) = (each for each in children if each.cwd().endswith(f"/{name}"))
        process.kill()


@contextmanager
def start(step: PipelineStep, tasks: Path, *options: str) -> Generator[TaskRun]:
    """Start a run of many tasks in a repository."""
    step.prepare()
    arguments = ("--cwd", str(step.workspace), "--tasks", str(tasks), "--format", "stream-json")
    with start_command(step.home, "run", *arguments, *options, **step.variables) as started:
        yield TaskRun(*started)


@pytest.mark.parametrize(("count", "jobs"), [(2, 2), pytest.param(40, 4, marks=FULL)])
def test_a_task_killed_midway_is_named_and_all_others_complete(
    tmp_path: Path, count: int, jobs: int
) -> None:
    models = Models(VICTIM)
    create_repository(tmp_path / "workspace", {"a.txt": b"a\n"})
    with openai_api_in_thread(models.answer) as api:
        step = make_chat_step(tmp_path, api)
        options = ("--jobs", str(jobs), "--output", str(tmp_path / "output"), "--retries", "0")
        with start(step, list_of(tmp_path, count), *options) as run:
            assert models.is_at_work.wait(RUN_TIMEOUT_SECONDS)
            run.kill_task(VICTIM)
            *events, result = run.events()
    entries = {str(each["id"]): each for each in cast("list[Object]", result["tasks"])}
    outcomes = {name: entry["outcome"] for name, entry in entries.items()}
    others = {f"task-{number + 1}" for number in range(count)} - {VICTIM}
    assert outcomes == dict.fromkeys(others, "done") | {VICTIM: "internal_error"}
    assert "SIGKILL" in str(cast("Object", entries[VICTIM]["result"])["reason"])
    assert result["reason"] == f"1 of {count} tasks are not done: {VICTIM}"
    assert (run.process.returncode, result["exit_code"]) == (1, 1)
    assert sorted(str(each["id"]) for each in events) == sorted(outcomes)
    patches = {name: Path(str(entries[name]["patch"])).read_text() for name in others}
    assert [name for name in others if f"+++ b/{name}.txt" not in patches[name]] == []
    logs = {name: (tmp_path / f"output/{name}.log").read_text() for name in others}
    assert [name for name in others if f"edit: Create {name}.txt: done" not in logs[name]] == []
    assert models.asked == Counter(others)
    assert git(step.workspace, "worktree", "list").count("\n") == 1
    assert git(step.workspace, "status", "--short") == ""


@FULL
def test_the_shards_run_every_task_exactly_once(tmp_path: Path) -> None:
    models = Models()
    create_repository(tmp_path / "workspace", {"a.txt": b"a\n"})
    tasks = list_of(tmp_path, 7)
    with openai_api_in_thread(models.answer) as api:
        step = make_chat_step(tmp_path, api)
        with ExitStack() as stack:
            shards = [("--shard", f"{part}/3", "--jobs", "2") for part in (1, 2, 3)]
            parts = [stack.enter_context(start(step, tasks, *each)) for each in shards]
            results = [part.events()[-1] for part in parts]
    assert [(each["outcome"], each["shard"]) for each in results] == [
        ("done", f"{part}/3") for part in (1, 2, 3)
    ]
    assert models.asked == Counter(f"task-{number + 1}" for number in range(7))


@FULL
def test_on_a_signal_every_task_is_named(tmp_path: Path) -> None:
    models = Models("task-1")
    create_repository(tmp_path / "workspace", {"a.txt": b"a\n"})
    with openai_api_in_thread(models.answer) as api:
        step = make_chat_step(tmp_path, api)
        with start(step, list_of(tmp_path, 3)) as run:
            assert models.is_at_work.wait(RUN_TIMEOUT_SECONDS)
            run.process.terminate()
            run.process.terminate()
            result = run.events()[-1]
    outcomes = [each["outcome"] for each in cast("list[Object]", result["tasks"])]
    assert (run.process.returncode, result["outcome"]) == (143, "terminated")
    assert outcomes == ["terminated", "not_run", "not_run"]
    assert git(step.workspace, "worktree", "list").count("\n") == 1


def test_a_run_that_is_stopped_during_set_up_has_spent_nothing(tmp_path: Path) -> None:
    """The journal has one outcome for the signal, and `--follow` the cost of the summary."""
    step = PipelineStep(tmp_path, UNREACHABLE_URL)
    create_repository(step.workspace, {"a.txt": b"a\n"})
    began, output = tmp_path / "began", tmp_path / "output"
    os.mkfifo(began)
    tasks = tmp_path / "tasks.jsonl"
    setup = f"echo >{began}; exec sleep 600"
    tasks.write_text(json.dumps({"id": "one", "prompt": "Go", "setup": setup}) + "\n")
    options = ("--total-cost", "1", "--max-cost", "0.5", "--output", str(output))
    with start(step, tasks, *options) as run:
        began.read_text()
        run.process.terminate()
        result = run.events()[-1]
    assert (run.process.returncode, result["outcome"], result["cost_usd"]) == (143, "terminated", 0)
    records = [parse_line(line) for line in (output / "journal.jsonl").read_text().splitlines()]
    (ended,) = [cast("Object", each["result"]) for each in records if each["type"] == "ended"]
    assert (records[-1]["outcome"], ended["outcome"]) == ("terminated", "terminated")
    assert "| $0.00 |" in (output / "summary.md").read_text()
    followed = step.run("--follow", str(output))
    (line,) = followed.stdout.splitlines()
    assert "0 queued, $0.00 of $1," in line


def processes_of(driver: int) -> list[psutil.Process]:
    return [each for each in psutil.Process(driver).children(recursive=True) if each.is_running()]


def test_a_killed_driver_leaves_nothing_and_resume_does_the_rest(tmp_path: Path) -> None:
    """Its tasks end, its worktrees are swept, and what was finished is not done again."""
    models = Models("task-2")
    create_repository(tmp_path / "workspace", {"a.txt": b"a\n"})
    tasks, output = list_of(tmp_path, 3), tmp_path / "output"
    with openai_api_in_thread(models.answer) as api:
        step = make_chat_step(tmp_path, api)
        options = ("--output", str(output))
        with start(step, tasks, *options) as driver:
            assert models.is_at_work.wait(RUN_TIMEOUT_SECONDS)
            children = processes_of(driver.process.pid)
            driver.process.kill()
            driver.process.wait()
        _, alive = psutil.wait_procs(children, timeout=RUN_TIMEOUT_SECONDS / 10)
        assert alive == []
        assert git(step.workspace, "worktree", "list").count("\n") == 2
        with start(step, tasks, *options) as refused:
            assert "add --resume" in str(refused.events()[-1]["reason"])
        models.victim = None
        with start(step, tasks, *options, "--resume") as again:
            result = again.events()[-1]
    assert [each["outcome"] for each in cast("list[Object]", result["tasks"])] == ["done"] * 3
    assert models.asked == Counter(f"task-{number + 1}" for number in range(3))
    assert git(step.workspace, "worktree", "list").count("\n") == 1
    assert [*step.scratch.iterdir()] == []


def test_uncommitted_work_is_noted_and_included_on_request(tmp_path: Path) -> None:
    step = PipelineStep(tmp_path, UNREACHABLE_URL)
    create_repository(step.workspace, {"a.txt": b"a\n", "gone.txt": b"x\n"})
    (step.workspace / "a.txt").write_bytes(b"changed\x00\n")
    (step.workspace / "new.txt").write_bytes(b"new\n")
    (step.workspace / "gone.txt").unlink()
    before = git(step.workspace, "status", "--porcelain")
    script = tmp_path / "s.script"
    script.write_text("prompt: *\nsay: Done.\n")
    tasks = tmp_path / "tasks.jsonl"
    check = "cat a.txt new.txt; ls"
    tasks.write_text(json.dumps({"id": "one", "prompt": "Go", "check": check}) + "\n")
    checks: list[str] = []
    for options in ((), ("--with-changes",)):
        output = tmp_path / f"output{len(options)}"
        done = step.run(
            *("--tasks", str(tasks), "--model", f"scripted:{script}", "--output", str(output)),
            *options,
        )
        entry = parse_line((output / "one.json").read_text())
        unit = cast("Object", entry["unit"])
        checks.append(str(cast("Object", unit["check"])["output"]))
        assert ("3 uncommitted changes" in done.stderr) is (not options), done.stderr
        task, total = done.stdout.splitlines()
        assert task == "one: done"
        assert re.fullmatch(r"1 of 1 passed, (\$0.00, )?\d+ s; (.*)", total), total
        assert total.endswith(f"; {output}/summary.md")
    assert "gone.txt" in checks[0]
    assert "new.txt" not in checks[0].replace("new.txt: No such file", "")
    assert checks[1] == "changed\nnew\na.txt\nnew.txt\n"
    assert git(step.workspace, "status", "--porcelain") == before


def test_a_task_file_is_checked_without_a_run(tmp_path: Path) -> None:
    step = PipelineStep(tmp_path, UNREACHABLE_URL)
    create_repository(step.workspace, {"a.txt": b"a\n"})
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"prompt": "a", "repeat": 3}\n{"prompt": "b", "tags": ["slow"]}\n')
    done = step.run("--tasks", str(tasks), "--check-tasks", "--matrix", "model=x,y")
    assert (done.exit_code, done.stdout) == (0, f"{tasks}: 4 tasks, 8 runs\n")
    wrong = ('{"prompt": "a", "ref": "nowhere"}', '{"prompt_file": "missing.md", "prompt": null}')
    tasks.write_text("\n".join(wrong))
    done = step.run("--tasks", str(tasks), "--check-tasks")
    assert done.exit_code == 2
    assert "task-1: cannot use the repository" in done.stderr
    assert "task-2: prompt_file" in done.stderr
    tasks.write_text('{"prompt": "a", "allow": ["nothing("]}\n{"prompt": 1}')
    done = step.run("--tasks", str(tasks), "--check-tasks")
    assert (done.exit_code, "line 2: prompt" in done.stderr) == (2, True)
