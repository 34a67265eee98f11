"""`acp-server run --tasks`: plans a fleet, lets its driver run it, and reports on all tasks."""

import json
import os
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import cast

import anyio
import click
from pydantic import JsonValue

from acp_server.cli.fleet_view import print_lines, rough_duration, show_fleet
from acp_server.cli.run_options import OutputOptions, RunOptions, TaskListOptions, option_name
from acp_server.cli.run_outputs import RunOutput, open_output, write_bytes
from acp_server.cli.run_requests import RunOptionsError, rules_from
from acp_server.cli.shutdown_signals import ShutdownSignals
from acp_server.config import settings
from acp_server.fleet.driver import (
    FleetControl,
    FleetDriver,
    FleetPolicy,
    UnitEnd,
    failed_result,
    result_entry,
)
from acp_server.fleet.engines.registry import LOCAL, find_engine
from acp_server.fleet.engines.seam import EngineConfig, EngineError
from acp_server.fleet.git import FleetGit
from acp_server.fleet.journal import (
    JOURNAL_VERSION,
    FleetJournal,
    JournalContents,
    JournalLockedError,
    read_journal,
)
from acp_server.fleet.outcomes import UnitOutcome, worst_of
from acp_server.fleet.planning import FleetPlan, FleetPlanner, PlanRequest
from acp_server.fleet.rate import parse_rate
from acp_server.fleet.reports.loading import ReportedUnit
from acp_server.fleet.reports.summary import summarize_group
from acp_server.fleet.reports.texts import cost_text
from acp_server.fleet.reports.writing import outcome_of, write_reports
from acp_server.fleet.results import UnitResult
from acp_server.fleet.status import FleetStatus
from acp_server.fleet.task_file import (
    TaskFileError,
    TaskLine,
    expand_matrix,
    parse_matrix,
    parse_task_lines,
    select_tasks,
    take_shard,
)
from acp_server.fleet.unit import InputFile, Unit
from acp_server.headless.errors import unwrap_single_exception
from acp_server.headless.run.junit import JunitCase, junit_report
from acp_server.headless.run.lines import json_line
from acp_server.headless.run.outcome import EXIT_CODES, outcome_of_signal
from acp_server.headless.run.report import RESULT_VERSION, RunReport
from acp_server.headless.run.rule_parsing import RuleError, parse_rule
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.turn.usage_totals import COST_DECIMALS
from acp_server.version import __version__

Json = dict[str, JsonValue]
_SINGLE_TASK_OPTIONS = ("prompt", "prompt_file", "session", "resume")
_FILE_OPTIONS = {"policy": "policy.toml", "json_schema": "schema.json"}
"""Options that name a file: nodes get its text."""
NOT_STARTED_REASON = "the run was ended before this task started"
CHANGES_DIRECTORY = "changes"
_INTERRUPT = 2


@dataclass(slots=True)
class FleetCommand:
    """One call of the command: its options, plan and results."""

    many: TaskListOptions
    common: RunOptions
    outputs: OutputOptions
    plan: FleetPlan
    directory: Path
    results: dict[str, UnitResult] = field(default_factory=dict[str, UnitResult])
    """Final results by key."""
    earlier: JournalContents = field(default_factory=JournalContents)
    """What earlier runs in the directory have left."""
    stop_outcome: UnitOutcome | None = None
    stop_reason: str = ""
    status: FleetStatus = field(default_factory=FleetStatus)

    def result_of(self, unit: Unit) -> UnitResult:
        """Return the result of a unit, which may not have run."""
        reason = self.stop_reason or NOT_STARTED_REASON
        before = self.earlier.ended.get(unit.key)
        return self.results.get(unit.key) or UnitResult(
            unit.key,
            unit.id,
            unit.task,
            "not_run",
            unit.repeat,
            unit.tags,
            unit.model,
            reason=reason,
            cost_usd=before.cost_usd if before else None,
            assumed_usd=self.earlier.assumed_of(unit.key),
        )

    def entries(self) -> Iterator[Json]:
        """Yield the report entry of each unit; results are read from their files."""
        for unit in self.plan.units:
            result = self.result_of(unit)
            if not result.has_run:
                printed = failed_result("not_run", result.reason)
                yield result_entry(self.directory, result, printed)
                continue
            file = self.directory / f"{unit.id}.json"
            try:
                entry = cast("JsonValue", json.loads(file.read_text(encoding="utf-8")))
            except (OSError, ValueError):
                entry = None
            if isinstance(entry, dict):
                yield entry
            else:
                yield result_entry(self.directory, result, None)


def run_tasks(
    file: Path,
    many: TaskListOptions,
    common: RunOptions,
    outputs: OutputOptions,
    signals: ShutdownSignals,
) -> int:
    """Run all tasks of a file and return the exit code of the worst outcome.

    Raises:
        RunOptionsError: The task file is invalid, or an option does not apply to many tasks.
    """
    policy = _policy(many)
    tasks = _load_tasks(file, many, common, outputs)
    configuration = settings.load({})
    plan = _plan(file, tasks, many, common)
    _check_costs(plan, policy)
    if many.check_tasks:
        click.echo(f"{file}: {len(tasks)} tasks, {len(plan.units)} runs")
        return 0
    default = f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    directory = (many.output or configuration.home / "acp" / "runs" / default).absolute()
    command = FleetCommand(many, common, outputs, plan, directory)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with (
            FleetJournal(directory, command.status.add) as journal,
            open_output(outputs, configuration) as output,
        ):
            for note in plan.notes:
                output.print_line(note, "warning")
            command.earlier = earlier = read_journal(directory)
            command.status.spent_usd = earlier.spent_usd or None
            for key in earlier.final:
                command.status.keep(earlier.ended[key])
            if common.resume is None and earlier.ended:
                raise RunOptionsError(
                    f"{directory} has the results of an earlier run: add --resume to continue it, "
                    "or choose another --output"
                )
            began = time.monotonic()
            _run_fleet(command, policy, journal, earlier, output, signals)
            return _report_all(command, output, signals, time.monotonic() - began)
    except (OSError, JournalLockedError, EngineError) as error:
        raise RunOptionsError(str(error)) from None


def _run_fleet(
    command: FleetCommand,
    policy: FleetPolicy,
    journal: FleetJournal,
    earlier: JournalContents,
    output: RunOutput,
    signals: ShutdownSignals,
) -> None:
    """Run the units that have not ended finally."""
    plan = command.plan
    journal.append(
        "run",
        version=JOURNAL_VERSION,
        server=__version__,
        host=os.uname().nodename,
        pid=os.getpid(),
        engine=command.many.engine,
        jobs=policy.jobs,
        shard=command.many.shard,
        units=len(plan.units),
        total_cost_usd=policy.total_cost,
    )
    journal.append_queued(plan.units)
    command.results |= {
        unit.key: earlier.ended[unit.key] for unit in plan.units if unit.key in earlier.final
    }
    waiting = [unit for unit in plan.units if unit.key not in command.results]
    if len(waiting) < len(plan.units):
        done = len(plan.units) - len(waiting)
        output.print_line(f"{done} of {len(plan.units)} tasks have ended in earlier runs", "quiet")
    config = _engine_config(command)
    open_engine = find_engine(command.many.engine)
    report = partial(_report_end, command, output)

    async def work() -> None:
        control = FleetControl()
        async with open_engine(config) as engine, anyio.create_task_group() as tasks:
            for node in await engine.nodes():
                if node.problem:
                    output.print_line(f"{node.name} is not used: {node.problem}", "warning")
            driver = FleetDriver(engine, command.directory, policy, report, journal.append)
            driver.has_shared_disk = command.many.engine == LOCAL
            tasks.start_soon(_obey_signals, signals, control, output)
            with show_fleet(command.status, command.directory) as has_terminal:
                if not has_terminal:
                    tasks.start_soon(print_lines, command.status)
                await driver.run(waiting, control, earlier)
            command.stop_outcome, command.stop_reason = driver.stop_outcome, driver.stop_reason
            tasks.cancel_scope.cancel()

    with unwrap_single_exception():
        anyio.run(work)
    journal.append("stopped", outcome=command.stop_outcome, reason=command.stop_reason)


async def _obey_signals(signals: ShutdownSignals, control: FleetControl, output: RunOutput) -> None:
    """Let running tasks end after a first Ctrl-C; cancel them after a second, or a SIGTERM."""
    while True:
        await anyio.wait_readable(signals)
        signals.clear()
        numbers = signals.received
        if len(numbers) == 1 and numbers[0] == _INTERRUPT:
            output.print_line(
                "No more tasks are started. Running ones may end; Ctrl-C cancels them.", "warning"
            )
        elif numbers:
            control.cancel.set()
        if signals.signal_number is not None:
            control.outcome = outcome_of_signal(signals.signal_number)
            control.drain.set()


def _engine_config(command: FleetCommand) -> EngineConfig:
    many = command.many
    options: Json = {}
    if many.engine_options is not None:
        try:
            options = tomllib.loads(many.engine_options.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunOptionsError(f"{many.engine_options}: {error}") from None
    return EngineConfig(
        jobs=many.jobs,
        address=many.engine_address or "",
        options=options,
        is_insecure_allowed=many.engine_insecure,
        changes=_write_changes(command),
    )


def _policy(many: TaskListOptions) -> FleetPolicy:
    try:
        rate = None if many.rate is None else parse_rate(many.rate)
    except ValueError as error:
        raise RunOptionsError(f"--rate: {error}") from None
    return FleetPolicy(many.jobs, many.fail_fast, many.total_cost, rate)


def _load_tasks(
    file: Path, many: TaskListOptions, common: RunOptions, outputs: OutputOptions
) -> Sequence[TaskLine]:
    for name in _SINGLE_TASK_OPTIONS:
        if name != "resume" and getattr(common, name) is not None:
            reason = f"{name.replace('_', '-')} applies to one task; omit it with --tasks"
            raise RunOptionsError(reason)
    if common.resume is not None and many.output is None:
        raise RunOptionsError("--resume needs the --output DIRECTORY of the run to continue")
    if outputs.format_ == "acp" or outputs.patch or outputs.last_message:
        reason = "--tasks writes a patch and an answer per task; use --output DIRECTORY"
        raise RunOptionsError(reason)
    rules_from(common)
    try:
        tasks: Sequence[TaskLine] = parse_task_lines(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, TaskFileError) as error:
        reason = "\n".join(f"{file}: {line}" for line in str(error).splitlines())
        raise RunOptionsError(reason) from None
    for task in tasks:
        _check_rules(file, task)
    try:
        if many.select:
            tasks = select_tasks(tasks, many.select)
        return take_shard(expand_matrix(tasks, parse_matrix(many.matrix)), many.shard)
    except TaskFileError as error:
        raise RunOptionsError(str(error)) from None


def _check_rules(file: Path, task: TaskLine) -> None:
    """Check the rules of a task, which its process would refuse only when it starts.

    Raises:
        RunOptionsError: A rule is invalid.
    """
    try:
        for name, rules in (("allow", task.allow), ("deny", task.deny)):
            for text in rules:
                parse_rule("allow" if name == "allow" else "deny", text)
    except RuleError as error:
        raise RunOptionsError(f"{file}: {task.id}: {error}") from None


def _plan(
    file: Path, tasks: Sequence[TaskLine], many: TaskListOptions, common: RunOptions
) -> FleetPlan:
    environment = settings.child_environment({})
    secrets = dict.fromkeys(settings.load({}).secret_variables)
    request = PlanRequest(
        directory=(common.cwd or Path()).resolve(),
        base=file.absolute().parent,
        options_for=partial(_task_options, common),
        inputs=tuple(_input_files(common)),
        model=common.model or "",
        mode=common.mode,
        skills=common.skills,
        max_cost=common.max_cost,
        retries=many.retries,
        has_changes=many.with_changes,
    )
    planner = FleetPlanner(
        request, FleetGit(settings.child_environment(secrets)), FleetGit(environment)
    )
    try:
        return planner.plan(tasks)
    except TaskFileError as error:
        reason = "\n".join(f"{file}: {line}" for line in str(error).splitlines())
        raise RunOptionsError(reason) from None


def _check_costs(plan: FleetPlan, policy: FleetPolicy) -> None:
    if policy.total_cost is None:
        return
    without = [unit.id for unit in plan.units if unit.max_cost is None]
    if without:
        raise RunOptionsError(
            "--total-cost reserves the cost limit of each task before it starts: give --max-cost, "
            f"or max_cost in the task file (missing for {', '.join(without[:3])})"
        )


def _input_files(common: RunOptions) -> Iterator[InputFile]:
    for name, file_name in _FILE_OPTIONS.items():
        path: Path | None = getattr(common, name)
        if path is not None:
            try:
                text = path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                raise RunOptionsError(f"{path}: {error}") from None
            yield InputFile(option_name(name), file_name, text)


def _task_options(common: RunOptions, task: TaskLine) -> tuple[str, ...]:
    """Return the options of a task's process; the task's own values override the common ones."""
    options: list[str] = []
    for name in (each.name for each in fields(RunOptions)):
        if name in {*_SINGLE_TASK_OPTIONS, *_FILE_OPTIONS, "cwd"}:
            continue
        shared, own = getattr(common, name), getattr(task, name, None)
        match shared if own is None else own:
            case bool(is_set):
                options += (option_name(name),) if is_set else ()
            case tuple():
                for each in (*shared, *(own or ())):
                    options += (option_name(name), str(each))
            case None:
                continue
            case value:
                options += (option_name(name), str(value))
    return tuple(options)


def _write_changes(command: FleetCommand) -> dict[str, Path]:
    """Write uncommitted changes to files, from which worktrees get them."""
    files: dict[str, Path] = {}
    for digest, diff in command.plan.changes.items():
        files[digest] = command.directory / CHANGES_DIRECTORY / f"{digest}.diff"
        problem = write_bytes(files[digest], diff)
        if problem:
            raise RunOptionsError(f"uncommitted changes cannot be stored: {problem}")
    return files


def _report_end(command: FleetCommand, output: RunOutput, end: UnitEnd) -> None:
    """Report that a task has ended."""
    result = end.result
    command.results[result.key] = result
    style = "ok" if result.is_passed else "problem"
    reason = output.cleaner.line(result.reason)
    output.print_line(f"{result.id}: {result.outcome}{reason and ': '}{reason}", style)
    if command.outputs.format_ == "stream-json":
        event: JsonValue = {"type": "task", **end.entry}
        output.lines.write_now(json_line(output.cleaner.json(event)))


def _report_all(
    command: FleetCommand, output: RunOutput, signals: ShutdownSignals, seconds: float
) -> int:
    """Write the reports of all tasks, also after a signal; return the exit code."""
    results = [command.result_of(unit) for unit in command.plan.units]
    outcomes: list[UnitOutcome] = [each.outcome for each in results]
    if signals.signal_number is not None:
        outcomes.append(outcome_of_signal(signals.signal_number))
    elif command.stop_outcome is not None:
        outcomes.append(command.stop_outcome)
    outcome = worst_of(outcomes)
    if command.many.min_pass is not None and outcome == worst_of([e.outcome for e in results]):
        # A run that was stopped has not shown that enough tasks pass.
        outcome = outcome_of(results, command.many.min_pass)
    outcome = _write_files(command, results, outcome, output)
    if command.outputs.format_ == "text":
        text = f"{_table(results)}\n{_totals(command, results, seconds)}"
        output.lines.write_now(output.cleaner.plain(text))
    else:
        output.write_json(_report(command, results, outcome, seconds))
    if output.lines.error:
        output.print_line(f"the output cannot be written: {output.lines.error}", "problem")
        outcome = worst_of((outcome, "internal_error"))
    return EXIT_CODES[outcome]


def _write_files(
    command: FleetCommand, results: Sequence[UnitResult], outcome: UnitOutcome, output: RunOutput
) -> UnitOutcome:
    """Write all reports and GitHub outputs; return the outcome, worse if that failed."""
    problems: list[str] = []
    units = [ReportedUnit(each, command.directory) for each in results]
    head: Json = {"outcome": outcome, "exit_code": EXIT_CODES[outcome], "shard": command.many.shard}
    markdown = ""
    try:
        markdown = write_reports(units, command.directory, output.cleaner, head=head).markdown
    except OSError as error:
        problems.append(f"the reports cannot be written: {error}")
    for name, path in (
        ("findings.sarif", command.outputs.sarif),
        ("gl-code-quality-report.json", command.outputs.code_quality),
    ):
        written = command.directory / name
        if path is not None and written.exists():
            problem = write_bytes(path, written.read_bytes())
            problems += [f"{path} cannot be written: {problem}"] if problem else []
    if command.outputs.junit is not None:
        cases = [
            _junit_case(result, entry, output.cleaner)
            for result, entry in zip(results, command.entries(), strict=True)
        ]
        problem = write_bytes(command.outputs.junit, junit_report(cases))
        problems += [f"the JUnit report cannot be written: {problem}"] if problem else []
    report = RunReport(outcome, _unfinished_text(results), text=_table(results))
    problems += output.write_step_report(report, markdown)
    for problem in problems:
        output.print_line(problem, "problem")
    return worst_of((outcome, "internal_error")) if problems else outcome


def _junit_case(result: UnitResult, entry: Json, cleaner: OutputSanitizer) -> JunitCase:
    printed = entry.get("result")
    text = printed.get("text") if isinstance(printed, dict) else ""
    return JunitCase(
        result.id,
        result.seconds,
        result.outcome,
        cleaner.line(result.reason),
        cleaner.plain(str(text or "")),
    )


def _report(
    command: FleetCommand, results: Sequence[UnitResult], outcome: UnitOutcome, seconds: float
) -> Json:
    cost = summarize_group(results).cost_usd
    return {
        "type": "result",
        "version": RESULT_VERSION,
        "outcome": outcome,
        "exit_code": EXIT_CODES[outcome],
        "reason": _unfinished_text(results) or None,
        "shard": command.many.shard,
        "duration_seconds": round(seconds, 3),
        "cost_usd": None if cost is None else round(cost, COST_DECIMALS),
        "tasks": [*command.entries()],
    }


def _unfinished_text(results: Sequence[UnitResult]) -> str:
    ids = [each.id for each in results if not each.is_passed]
    return f"{len(ids)} of {len(results)} tasks are not done: {', '.join(ids)}" if ids else ""


def _totals(command: FleetCommand, results: Sequence[UnitResult], seconds: float) -> str:
    """Return the last line: how many passed, what they cost, and where the summary is."""
    whole = summarize_group(results)
    parts = [f"{whole.passed} of {whole.total} passed"]
    if whole.cost_usd is not None:
        parts.append(cost_text(whole.cost_usd))
    parts.append(rough_duration(seconds))
    return f"{', '.join(parts)}; {command.many.output or command.directory}/summary.md"


def _table(results: Sequence[UnitResult]) -> str:
    return "\n".join(f"{each.id}: {each.outcome}" for each in results)
