"""What a command line of `acp-server run` asks for, done: one task, many, or only a preview."""

import sys
from collections.abc import Generator
from contextlib import contextmanager

import click
from pydantic import BaseModel

from acp_server.cli.endings import EndedError, Endings
from acp_server.cli.run_outputs import Format, Outputs, crash_told, refuse, run_to_its_end
from acp_server.cli.run_preview import show_preview
from acp_server.cli.run_requests import Given, WrongRequestError, request_from
from acp_server.cli.run_tasks import Many, run_tasks
from acp_server.headless.run.outcome import EXIT_CODES, outcome_of_signal


class _Chosen(BaseModel):
    """What is neither of the task nor of its outputs."""

    format_: Format
    dry_run: bool
    tasks: object
    jobs: int
    shard: str | None
    output: object


@contextmanager
def _telling_crashes(format_: Format) -> Generator[None]:
    """Have a bug of ours leave a result before a run has begun, too."""
    try:
        yield
    finally:
        error = sys.exception()
        if isinstance(error, Exception) and not isinstance(error, WrongRequestError):
            refuse(crash_told(error), format_, "internal_error")


def _check(chosen: _Chosen) -> None:
    """Refuse what is of many tasks where there is one, as each part would do all of it.

    Raises:
        WrongRequestError: there is such an option, or one task's where there are many.
    """
    if chosen.tasks is not None:
        if chosen.dry_run:
            reason = "--dry-run shows one task: leave --tasks out"
            raise WrongRequestError(reason)
        return
    many = {"--shard": chosen.shard, "--output": chosen.output, "--jobs": chosen.jobs > 1}
    for option, value in many.items():
        if value:
            reason = f"{option} is of many tasks: give --tasks"
            raise WrongRequestError(reason)


def do(options: dict[str, object], endings: Endings) -> int:
    """Do what the options ask for, until a signal comes; return the exit code.

    Raises:
        click.UsageError: the options do not go together, or name what is not there.
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
        refuse("the run was ended by a signal before it began", chosen.format_, outcome)
        return EXIT_CODES[outcome]
    if chosen.dry_run:
        return show_preview(request, outputs, endings)
    return run_to_its_end(request, outputs, endings)
