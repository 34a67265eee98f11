"""`acp-server run --tasks`: runs each task in its own process and reports on all of them."""

import os
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import click
from pydantic import BaseModel, JsonValue

from acp_server.cli.async_runner import run_until_asked
from acp_server.cli.run_files import write_bytes
from acp_server.cli.run_github import Step, step_for
from acp_server.cli.run_outputs import COLOURS, Outputs, cleaner_for
from acp_server.cli.run_requests import Given, WrongRequestError, rules_from
from acp_server.cli.shutdown_signals import Endings
from acp_server.config import settings
from acp_server.headless.run.junit import Case, junit
from acp_server.headless.run.lines import Lines, claimed_stdout, json_line
from acp_server.headless.run.outcome import EXIT_CODES, Outcome, outcome_of_signal
from acp_server.headless.run.report import Report
from acp_server.headless.run.result import VERSION
from acp_server.headless.run.sanitizing import Cleaner
from acp_server.headless.run.task_list import Task, TaskListError, part_of, tasks_in
from acp_server.headless.run.task_pool import TaskEntry, TaskPool, gravest
from acp_server.headless.run.worktrees import WorktreeError, Worktrees
from acp_server.startup.isolation import isolated_server
from acp_server.turn.loop import COST_DIGITS

Json = dict[str, JsonValue]
Value = str | float | Path | None
_OF_ONE_TASK = ("prompt", "prompt_file", "session", "resume")
_FOR_ALL = {
    "ask": "--ask",
    "policy": "--policy",
    "on_denied": "--on-denied",
    "max_retries": "--max-retries",
    "connect_timeout": "--connect-timeout",
    "sandbox": "--sandbox",
    "json_schema": "--json-schema",
    "fail_on": "--fail-on",
}
_OWN = {
    "model": "--model",
    "mode": "--mode",
    "max_turns": "--max-turns",
    "max_cost": "--max-cost",
    "max_tokens": "--max-tokens",
    "timeout": "--timeout",
}
_SWITCHES = {
    "ephemeral": "--ephemeral",
    "trust_project": "--trust-project",
    "findings": "--findings",
}


class Many(BaseModel):
    """Options of a run with many tasks: task file, parallelism, shard, output directory."""

    tasks: Path
    jobs: int = 1
    shard: str | None = None
    output: Path | None = None


def run_tasks(many: Many, given: Given, outputs: Outputs, endings: Endings) -> int:
    """Run all tasks of a list and return the exit code of the worst outcome.

    Raises:
        WrongRequestError: The task file is invalid, or an option does not apply to many tasks.
    """
    tasks = _listed(many, given, outputs)
    configuration = settings.load({})
    place = (many.output or _new_place(configuration.home)).absolute()
    cleaner = cleaner_for(configuration)
    with (
        _worktrees(given, place) as trees,
        claimed_stdout() as lines,
        step_for(outputs.github, cleaner) as step,
    ):
        work = _Work(outputs, lines, cleaner, step)
        pool = TaskPool(
            worktrees=trees,
            output=place,
            arguments=lambda task: [*_options(given, task)],
            jobs=many.jobs,
            command=isolated_server("run", "-"),
            tell=work.tell,
        )
        return work.run(pool, tasks, many.shard, endings)


def _new_place(home: Path) -> Path:
    return home / "acp" / "runs" / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"


@contextmanager
def _worktrees(given: Given, place: Path) -> Generator[Worktrees]:
    """Provide git worktrees in a temporary directory and create the output directory.

    The temporary directory is outside HERMES_HOME: files below that never count as a workspace.

    Raises:
        WrongRequestError: Worktrees are not possible here, or the output directory cannot be made.
    """
    with tempfile.TemporaryDirectory(prefix="acp-tasks-", ignore_cleanup_errors=True) as room:
        trees = Worktrees((given.cwd or Path()).resolve(), Path(room).resolve())
        try:
            place.mkdir(parents=True, exist_ok=True)
            anyio.run(trees.check)
        except (OSError, WorktreeError) as error:
            raise WrongRequestError(str(error)) from None
        yield trees


def _listed(many: Many, given: Given, outputs: Outputs) -> tuple[Task, ...]:
    for name in _OF_ONE_TASK:
        if getattr(given, name) is not None:
            reason = f"{name.replace('_', '-')} applies to one task; omit it with --tasks"
            raise WrongRequestError(reason)
    if outputs.format_ == "acp" or outputs.patch or outputs.last_message:
        reason = "--tasks writes a patch and an answer per task; use --output DIRECTORY"
        raise WrongRequestError(reason)
    rules_from(given)
    try:
        return tuple(part_of(tasks_in(many.tasks.read_text(encoding="utf-8")), many.shard))
    except (OSError, UnicodeDecodeError, TaskListError) as error:
        reason = f"{many.tasks}: {error}"
        raise WrongRequestError(reason) from None


def _options(given: Given, task: Task) -> Iterator[str]:
    """Yield the options of a task's process; the task's own values override the common ones."""
    for name, option in _OWN.items():
        value: Value = getattr(task, name)
        yield from _said(option, getattr(given, name) if value is None else value)
    for name, option in _FOR_ALL.items():
        yield from _said(option, getattr(given, name))
    for name, option in _SWITCHES.items():
        if getattr(given, name):
            yield option
    yield from _said("--skill", (*given.skills, *task.skills))
    yield from _said("--allow", (*given.allow, *task.allow))
    yield from _said("--deny", (*given.deny, *task.deny))


def _said(option: str, value: Value | tuple[Value, ...]) -> Iterator[str]:
    for each in value if isinstance(value, tuple) else (value,):
        if each is not None:
            yield from (option, str(each.absolute() if isinstance(each, Path) else each))


class _Work:
    """A run of many tasks and its outputs."""

    def __init__(self, outputs: Outputs, lines: Lines, cleaner: Cleaner, step: Step | None) -> None:
        self._outputs = outputs
        self._lines = lines
        self._cleaner = cleaner
        self._step = step
        self._telling = anyio.Lock()

    def run(
        self, pool: TaskPool, tasks: tuple[Task, ...], shard: str | None, endings: Endings
    ) -> int:
        """Run the tasks and return the exit code; the report is printed even after a signal."""
        began = time.monotonic()

        async def work() -> int:
            await pool.run(tasks)
            return 0

        ended_by = run_until_asked(work, endings)
        entries = [pool.entries[task.id] for task in tasks]
        outcomes: list[Outcome] = [entry.outcome for entry in entries]
        if ended_by:
            outcomes.append(outcome_of_signal(endings.number))
        outcome = self._leave_files(entries, gravest(outcomes))
        report = _report(entries, outcome, time.monotonic() - began, shard)
        if self._outputs.format_ == "text":
            self._lines.write_now(self._cleaner.plain(_table(entries)))
        else:
            self._lines.write_now(json_line(self._cleaner.json(report)))
        if self._lines.fault:
            self._say(f"the output cannot be written: {self._lines.fault}", "problem")
            outcome = gravest((outcome, "internal_error"))
        return EXIT_CODES[outcome]

    async def tell(self, entry: TaskEntry) -> None:
        """Report that a task has ended."""
        # Tasks end concurrently: the lock keeps the stderr line and the JSON event together.
        async with self._telling:
            style = "ok" if entry.outcome == "done" else "problem"
            reason = self._cleaner.line(str(entry.result.get("reason") or ""))
            self._say(f"{entry.task.id}: {entry.outcome}{reason and ': '}{reason}", style)
            if self._outputs.format_ == "stream-json":
                event: JsonValue = {"type": "task", **entry.as_json()}
                await self._lines.write(json_line(self._cleaner.json(event)))

    def _leave_files(self, entries: list[TaskEntry], outcome: Outcome) -> Outcome:
        """Write the JUnit report and GitHub outputs; return the outcome, worse if that failed."""
        problems: list[str] = []
        if self._outputs.junit is not None:
            problem = write_bytes(self._outputs.junit, junit([*map(self._case, entries)]))
            problems += [f"the JUnit report cannot be written: {problem}"] if problem else []
        if self._step is not None:
            problems += self._step.report(Report(outcome, _told(entries), _table(entries)))
        for problem in problems:
            self._say(problem, "problem")
        return gravest((outcome, "internal_error")) if problems else outcome

    def _case(self, entry: TaskEntry) -> Case:
        result = entry.result
        seconds = result.get("duration_seconds")
        return Case(
            entry.task.id,
            float(seconds) if isinstance(seconds, int | float) else 0.0,
            entry.outcome,
            self._cleaner.line(str(result.get("reason") or "")),
            self._cleaner.plain(str(result.get("text") or "")),
        )

    def _say(self, line: str, style: str) -> None:
        shown = line if self._step is None else self._step.harmless(line)
        click.secho(shown, err=True, fg=COLOURS[style])


def _report(entries: list[TaskEntry], outcome: Outcome, seconds: float, shard: str | None) -> Json:
    costs = [entry.result.get("cost_usd") for entry in entries]
    known = [cost for cost in costs if isinstance(cost, int | float)]
    return {
        "type": "result",
        "version": VERSION,
        "outcome": outcome,
        "exit_code": EXIT_CODES[outcome],
        "reason": _told(entries) or None,
        "shard": shard,
        "duration_seconds": round(seconds, 3),
        "cost_usd": round(sum(known), COST_DIGITS) if known else None,
        "tasks": [entry.as_json() for entry in entries],
    }


def _told(entries: list[TaskEntry]) -> str:
    left = [entry.task.id for entry in entries if entry.outcome != "done"]
    return f"{len(left)} of {len(entries)} tasks are not done: {', '.join(left)}" if left else ""


def _table(entries: list[TaskEntry]) -> str:
    return "\n".join(f"{entry.task.id}: {entry.outcome}" for entry in entries)
