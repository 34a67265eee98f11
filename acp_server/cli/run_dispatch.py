"""Dispatches `acp-server run` to a single task, many tasks or a preview."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

import click
from pydantic import BaseModel

from acp_server.cli.run_outputs import Format, Outputs, crash_told, refuse, run_to_its_end
from acp_server.cli.run_preview import show_preview
from acp_server.cli.run_requests import Given, WrongRequestError, request_from
from acp_server.cli.run_tasks import Many, run_tasks
from acp_server.cli.shutdown_signals import EndedError, Endings
from acp_server.headless.run.outcome import EXIT_CODES, outcome_of_signal


class _Chosen(BaseModel):
    """Options that select the kind of run."""

    format_: Format
    dry_run: bool
    tasks: object
    jobs: int
    shard: str | None
    output: object


@contextmanager
def _telling_crashes(format_: Format) -> Generator[None]:
    """Print a result for an unexpected exception that is raised before the run starts."""
    try:
        yield
    finally:
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, WrongRequestError):
            refuse(crash_told(error), format_, "internal_error")


def _check(chosen: _Chosen) -> None:
    """Check that the options fit a single task or many tasks.

    `--shard` without `--tasks` must fail: otherwise every shard of a pipeline would run the task.

    Raises:
        WrongRequestError: An option for many tasks is given without --tasks, or --dry-run with it.
    """
    if chosen.tasks is not None:
        if chosen.dry_run:
            reason = "--dry-run shows one task and cannot be used with --tasks"
            raise WrongRequestError(reason)
        return
    many = {"--shard": chosen.shard, "--output": chosen.output, "--jobs": chosen.jobs > 1}
    for option, value in many.items():
        if value:
            reason = f"{option} applies to many tasks: add --tasks FILE"
            raise WrongRequestError(reason)


def do(options: dict[str, object], endings: Endings) -> int:
    """Run the task, tasks or preview that the options select; return the exit code.

    Raises:
        click.UsageError: Options contradict each other or name a missing file or tool.
    """
    chosen = _Chosen.model_validate({name: options.pop(name) for name in _Chosen.model_fields})
    outputs = Outputs.model_validate(
        {name: options.pop(name) for name in Outputs.model_fields if name != "format_"}
        | {"format_": chosen.format_}
    )
    given = Given.model_validate(options)
    try:
        _check(chosen)
        if chosen.tasks is not None:
            return run_tasks(Many.model_validate(chosen.model_dump()), given, outputs, endings)
        with _telling_crashes(chosen.format_), endings.breaking():
            request = request_from(given, None if sys.stdin is None else sys.stdin.buffer)
    except WrongRequestError as error:
        refuse(str(error), chosen.format_)
        raise click.UsageError(str(error)) from None
    except EndedError:
        outcome = outcome_of_signal(endings.number)
        refuse("the run was stopped by a signal before it started", chosen.format_, outcome)
        return EXIT_CODES[outcome]
    if chosen.dry_run:
        return show_preview(request, outputs, endings)
    return run_to_its_end(request, outputs, endings)
