"""`acp-server run --tasks`: runs each task in its own process and reports on all of them."""

import os
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path

import anyio
from pydantic import JsonValue

from acp_server.cli.async_runner import run_until_signal
from acp_server.cli.run_options import OutputOptions, RunOptions, TaskListOptions, option_name
from acp_server.cli.run_outputs import RunOutput, open_output, write_bytes
from acp_server.cli.run_requests import RunOptionsError, rules_from
from acp_server.cli.shutdown_signals import ShutdownSignals
from acp_server.config import settings
from acp_server.headless.run.junit import JunitCase, junit_report
from acp_server.headless.run.lines import json_line
from acp_server.headless.run.outcome import EXIT_CODES, Outcome, outcome_of_signal
from acp_server.headless.run.report import RESULT_VERSION, RunReport
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.headless.run.task_list import RunTask, TaskListError, parse_tasks, select_shard
from acp_server.headless.run.task_pool import TaskEntry, TaskPool, worst_outcome
from acp_server.headless.run.worktrees import WorktreeError, WorktreeFactory
from acp_server.startup.isolation import isolated_server
from acp_server.turn.usage_totals import COST_DECIMALS

Json = dict[str, JsonValue]
_SINGLE_TASK_OPTIONS = ("prompt", "prompt_file", "session", "resume")


def run_tasks(
    file: Path,
    many: TaskListOptions,
    common: RunOptions,
    outputs: OutputOptions,
    signals: ShutdownSignals,
) -> int:
    """Run all tasks of a list and return the exit code of the worst outcome.

    Raises:
        RunOptionsError: The task file is invalid, or an option does not apply to many tasks.
    """
    tasks = _load_tasks(file, many.shard, common, outputs)
    configuration = settings.load({})
    default = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    directory = (many.output or configuration.home / "acp" / "runs" / default).absolute()
    with (
        _worktrees(common, directory) as worktrees,
        open_output(outputs, configuration) as output,
    ):
        pool = TaskPool(
            worktrees=worktrees,
            output=directory,
            arguments=lambda task: [*_task_options(common, task)],
            jobs=many.jobs,
            command=isolated_server("run", "-"),
            on_ended=partial(_report_task, outputs, output, anyio.Lock()),
        )
        began = time.monotonic()

        async def work() -> int:
            await pool.run(tasks)
            return 0

        exit_code = run_until_signal(work, signals)
        # The report is printed even after a signal.
        entries = [pool.entries[task.id] for task in tasks]
        outcomes: list[Outcome] = [entry.outcome for entry in entries]
        if exit_code:
            outcomes.append(outcome_of_signal(signals.signal_number))
        outcome = _write_files(entries, worst_outcome(outcomes), outputs, output)
        if outputs.format_ == "text":
            output.lines.write_now(output.cleaner.plain(_table(entries)))
        else:
            seconds = time.monotonic() - began
            output.write_json(_report(entries, outcome, seconds, many.shard))
        if output.lines.error:
            output.print_line(f"the output cannot be written: {output.lines.error}", "problem")
            outcome = worst_outcome((outcome, "internal_error"))
        return EXIT_CODES[outcome]


@contextmanager
def _worktrees(common: RunOptions, output_directory: Path) -> Generator[WorktreeFactory]:
    """Provide git worktrees in a temporary directory and create the output directory.

    The temporary directory is outside HERMES_HOME: files below that never count as a workspace.

    Raises:
        RunOptionsError: Worktrees are not possible here, or the output directory cannot be made.
    """
    with tempfile.TemporaryDirectory(prefix="acp-tasks-", ignore_cleanup_errors=True) as directory:
        worktrees = WorktreeFactory((common.cwd or Path()).resolve(), Path(directory).resolve())
        try:
            output_directory.mkdir(parents=True, exist_ok=True)
            anyio.run(worktrees.check)
        except (OSError, WorktreeError) as error:
            raise RunOptionsError(str(error)) from None
        yield worktrees


def _load_tasks(
    file: Path, shard: str | None, common: RunOptions, outputs: OutputOptions
) -> tuple[RunTask, ...]:
    for name in _SINGLE_TASK_OPTIONS:
        if getattr(common, name) is not None:
            reason = f"{name.replace('_', '-')} applies to one task; omit it with --tasks"
            raise RunOptionsError(reason)
    if outputs.format_ == "acp" or outputs.patch or outputs.last_message:
        reason = "--tasks writes a patch and an answer per task; use --output DIRECTORY"
        raise RunOptionsError(reason)
    rules_from(common)
    try:
        tasks = parse_tasks(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, TaskListError) as error:
        raise RunOptionsError(f"{file}: {error}") from None
    try:
        return tuple(select_shard(tasks, shard))
    except TaskListError as error:
        raise RunOptionsError(f"--shard: {error}") from None


def _task_options(common: RunOptions, task: RunTask) -> Iterator[str]:
    """Yield the options of a task's process; the task's own values override the common ones."""
    for name in (each.name for each in fields(RunOptions)):
        if name in (*_SINGLE_TASK_OPTIONS, "cwd"):
            continue
        shared, own = getattr(common, name), getattr(task, name, None)
        match shared if own is None else own:
            case bool(is_set):
                yield from (option_name(name),) if is_set else ()
            case tuple():
                for each in (*shared, *(own or ())):
                    yield from (option_name(name), each)
            case None:
                continue
            case value:
                path = value.absolute() if isinstance(value, Path) else value
                yield from (option_name(name), str(path))


async def _report_task(
    outputs: OutputOptions, output: RunOutput, lock: anyio.Lock, entry: TaskEntry
) -> None:
    """Report that a task has ended."""
    # Tasks end concurrently: the lock keeps the stderr line and the JSON event together.
    async with lock:
        style = "ok" if entry.outcome == "done" else "problem"
        reason = output.cleaner.line(str(entry.result.get("reason") or ""))
        output.print_line(f"{entry.task.id}: {entry.outcome}{reason and ': '}{reason}", style)
        if outputs.format_ == "stream-json":
            event: JsonValue = {"type": "task", **entry.as_json()}
            await output.lines.write(json_line(output.cleaner.json(event)))


def _write_files(
    entries: list[TaskEntry], outcome: Outcome, outputs: OutputOptions, output: RunOutput
) -> Outcome:
    """Write the JUnit report and GitHub outputs; return the outcome, worse if that failed."""
    problems: list[str] = []
    if outputs.junit is not None:
        cases = [_junit_case(entry, output.cleaner) for entry in entries]
        problem = write_bytes(outputs.junit, junit_report(cases))
        problems += [f"the JUnit report cannot be written: {problem}"] if problem else []
    report = RunReport(outcome, _unfinished_text(entries), _table(entries))
    problems += output.write_step_report(report)
    for problem in problems:
        output.print_line(problem, "problem")
    return worst_outcome((outcome, "internal_error")) if problems else outcome


def _junit_case(entry: TaskEntry, cleaner: OutputSanitizer) -> JunitCase:
    result = entry.result
    seconds = result.get("duration_seconds")
    return JunitCase(
        entry.task.id,
        float(seconds) if isinstance(seconds, int | float) else 0.0,
        entry.outcome,
        cleaner.line(str(result.get("reason") or "")),
        cleaner.plain(str(result.get("text") or "")),
    )


def _report(entries: list[TaskEntry], outcome: Outcome, seconds: float, shard: str | None) -> Json:
    costs = [entry.result.get("cost_usd") for entry in entries]
    known = [cost for cost in costs if isinstance(cost, int | float)]
    return {
        "type": "result",
        "version": RESULT_VERSION,
        "outcome": outcome,
        "exit_code": EXIT_CODES[outcome],
        "reason": _unfinished_text(entries) or None,
        "shard": shard,
        "duration_seconds": round(seconds, 3),
        "cost_usd": round(sum(known), COST_DECIMALS) if known else None,
        "tasks": [entry.as_json() for entry in entries],
    }


def _unfinished_text(entries: list[TaskEntry]) -> str:
    ids = [entry.task.id for entry in entries if entry.outcome != "done"]
    return f"{len(ids)} of {len(entries)} tasks are not done: {', '.join(ids)}" if ids else ""


def _table(entries: list[TaskEntry]) -> str:
    return "\n".join(f"{entry.task.id}: {entry.outcome}" for entry in entries)
