"""Dispatches `acp-server run` to a single task, many tasks or a preview."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import fields
from functools import partial

import click

from acp_server.cli.async_runner import run_until_signal
from acp_server.cli.run_options import (
    OutputFormat,
    OutputOptions,
    RunOptions,
    TaskListOptions,
    option_name,
    take_options,
)
from acp_server.cli.run_outputs import crash_reason, print_failed_start, run_and_report
from acp_server.cli.run_preview import show_preview
from acp_server.cli.run_requests import RunOptionsError, request_from
from acp_server.cli.shutdown_signals import ShutdownRequestedError, ShutdownSignals
from acp_server.headless.run.outcome import EXIT_CODES, outcome_of_signal


@contextmanager
def _reporting_crashes(format_: OutputFormat) -> Generator[None]:
    """Print a result for an unexpected exception that is raised before the run starts."""
    try:
        yield
    finally:
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, RunOptionsError):
            print_failed_start(crash_reason(error), format_, "internal_error")


def _check_task_options(chosen: TaskListOptions, *, is_dry_run: bool) -> None:
    """Check that the options fit a single task or many tasks.

    `--shard` without `--tasks` must fail: otherwise every shard of a pipeline would run the task.

    Raises:
        RunOptionsError: An option for many tasks is given without --tasks, or --dry-run with it.
    """
    if chosen.merge:
        if chosen.tasks is not None:
            raise RunOptionsError("--merge runs nothing and cannot be used with --tasks")
        if chosen.output is None:
            raise RunOptionsError("--merge needs --output DIRECTORY for the reports")
        return
    if chosen.tasks is not None:
        if is_dry_run:
            raise RunOptionsError("--dry-run shows one task and cannot be used with --tasks")
        return
    if chosen.follow is not None:
        return
    for each in fields(TaskListOptions):
        if getattr(chosen, each.name) != each.default:
            option = option_name(each.name)
            raise RunOptionsError(f"{option} applies to many tasks: add --tasks FILE")


def dispatch_run(options: dict[str, object], signals: ShutdownSignals) -> int:
    """Run the task, tasks or preview that the options select; return the exit code.

    Raises:
        click.UsageError: Options contradict each other or name a missing file or tool.
    """
    chosen = take_options(TaskListOptions, options)
    outputs = take_options(OutputOptions, options)
    run_options = take_options(RunOptions, options)
    try:
        _check_task_options(chosen, is_dry_run=outputs.dry_run)
        if chosen.follow is not None:
            from acp_server.cli.fleet_view import follow_fleet

            return run_until_signal(partial(follow_fleet, chosen.follow), signals)
        if chosen.merge and chosen.output is not None:
            from acp_server.cli.report import report_on

            is_json = outputs.format_ != "text"
            return report_on(
                chosen.merge, chosen.output, chosen.min_pass, outputs.github, is_json=is_json
            )
        if chosen.tasks is not None:
            from acp_server.cli.run_tasks import run_tasks

            return run_tasks(chosen.tasks, chosen, run_options, outputs, signals)
        with _reporting_crashes(outputs.format_), signals.interrupt_blocking():
            request = request_from(run_options, None if sys.stdin is None else sys.stdin.buffer)
    except RunOptionsError as error:
        print_failed_start(str(error), outputs.format_)
        raise click.UsageError(str(error)) from None
    except ShutdownRequestedError:
        outcome = outcome_of_signal(signals.signal_number)
        print_failed_start(
            "the run was stopped by a signal before it started", outputs.format_, outcome
        )
        return EXIT_CODES[outcome]
    if outputs.dry_run:
        return show_preview(request, outputs, signals)
    return run_and_report(request, outputs, signals)
