"""`acp-server run`: one task, or many, without an editor and without anybody to ask."""

import sys
from collections.abc import Callable

import click
from pydantic import BaseModel

from acp_server.cli.run_options import ALL
from acp_server.cli.run_outputs import Format, Outputs, refuse, run_to_its_end
from acp_server.cli.run_preview import show_preview
from acp_server.cli.run_requests import Given, WrongRequestError, request_from
from acp_server.cli.run_tasks import Many, run_tasks

EXAMPLES = """\
\b
Examples:
  acp-server run "Fix the failing test"
  git diff | acp-server run "Review this change" --mode plan --findings
  acp-server run --prompt-file task.md --allow 'terminal(uv run pytest)' --timeout 600
  acp-server run "Go on" --resume last --format json | jq .outcome
  acp-server run --tasks tasks.jsonl --jobs 4 --shard 1/3 --format json

\b
Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 timeout, 4 no such session,
5 a denial left work undone, 6 findings, 7 a budget was hit, 8 authentication, 75 the provider
failed and may work later, 130 and 143 ended by a signal.
"""


class _Chosen(BaseModel):
    """What is neither of the task nor of its outputs."""

    format_: Format
    dry_run: bool
    tasks: object
    jobs: int
    shard: str | None
    output: object


def _run(**options: object) -> int:
    """Do one task and say truly how it ended.

    The task is PROMPT, or a file; what is piped in comes with it, and `-` takes all of it from
    there. A policy answers in a person's place: what is not allowed is denied.
    """
    chosen = _Chosen.model_validate({name: options.pop(name) for name in _Chosen.model_fields})
    outputs = Outputs.model_validate(
        {name: options.pop(name) for name in Outputs.model_fields if name != "format_"}
        | {"format_": chosen.format_}
    )
    given = Given.model_validate(options)
    try:
        if chosen.tasks is not None:
            return run_tasks(Many.model_validate(chosen.model_dump()), given, outputs)
        request = request_from(given, sys.stdin)
    except WrongRequestError as error:
        refuse(str(error), chosen.format_)
        raise click.UsageError(str(error)) from None
    return show_preview(request, outputs) if chosen.dry_run else run_to_its_end(request, outputs)


def _decorated(function: Callable[..., int]) -> click.Command:
    """Return the command with its options."""
    for option in reversed(ALL):
        function = option(function)
    return click.command(name="run", epilog=EXAMPLES)(function)


command = _decorated(_run)
