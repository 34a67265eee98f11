"""`acp-server run`: one task, without an editor and without anybody to ask."""

import sys
from collections.abc import Callable
from pathlib import Path

import click

from acp_server.cli.run_outputs import Format, run_to_its_end
from acp_server.cli.run_requests import Given, WrongRequestError, request_from

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
POSITIVE = click.FloatRange(min=0, min_open=True)
COUNT = click.IntRange(min=1)

EXAMPLES = """\
\b
Examples:
  acp-server run "Fix the failing test"
  git diff | acp-server run "Review this change" --mode plan
  acp-server run --prompt-file task.md --allow 'terminal(uv run pytest)' --timeout 600
  acp-server run "Go on" --resume last --format json | jq .outcome

\b
Exit codes: 0 done, 1 internal error, 2 usage or configuration, 3 timeout, 4 no such session,
5 a denial left work undone, 7 a budget was hit, 8 authentication, 75 the provider failed and may
work later, 130 and 143 ended by a signal.
"""


def _decorated(function: Callable[..., int]) -> click.Command:
    """Return the command with its options."""
    options = (
        click.argument("prompt", required=False),
        click.option("--prompt-file", type=FILE, help="Read the task from a file."),
        click.option("--cwd", type=FOLDER, help="The workspace; without it, this folder."),
        click.option("--model", help="The model to ask."),
        click.option(
            "--mode",
            type=click.Choice(["plan", "edit", "full"]),
            default="edit",
            show_default=True,
            help="plan reads only; edit changes files too; full runs anything but what is "
            "protected.",
        ),
        click.option("--session", metavar="ID", help="Go on with a session."),
        click.option(
            "--resume", type=click.Choice(["last"]), help="Go on with the folder's last session."
        ),
        click.option("--ephemeral", is_flag=True, help="Keep nothing of the session."),
        click.option(
            "--skill", "skills", metavar="NAME", multiple=True, help="Load a skill first."
        ),
        click.option("--allow", metavar="RULE", multiple=True, help="Let a tool do this."),
        click.option("--deny", metavar="RULE", multiple=True, help="Never let a tool do this."),
        click.option("--ask", metavar="RULE", multiple=True, help="Deny it unless allowed before."),
        click.option("--policy", type=FILE, help="A TOML file of rules, in order."),
        click.option(
            "--on-denied",
            type=click.Choice(["fail", "continue"]),
            default="continue",
            show_default=True,
            help="Whether a denial ends the run.",
        ),
        click.option("--max-turns", type=COUNT, help="The most model calls."),
        click.option("--max-cost", type=POSITIVE, metavar="USD", help="The most it may cost."),
        click.option("--max-tokens", type=COUNT, help="The most tokens, read and written."),
        click.option("--timeout", type=POSITIVE, metavar="SECONDS", help="The most time."),
        click.option("--max-retries", type=click.IntRange(min=0), help="Repeated requests."),
        click.option(
            "--trust-project", is_flag=True, help="Use the project's own skills and settings."
        ),
        click.option(
            "--format",
            "format_",
            type=click.Choice(["text", "json", "stream-json", "acp"]),
            default="text",
            show_default=True,
            help="What stdout gets; everything else goes to stderr.",
        ),
    )
    for option in reversed(options):
        function = option(function)
    return click.command(name="run", epilog=EXAMPLES)(function)


def _run(*, format_: Format, **given: object) -> int:
    """Do one task and say truly how it ended.

    The task is PROMPT, or a file; what is piped in comes with it, and `-` takes all of it from
    there. A policy answers in a person's place: what is not allowed is denied.
    """
    try:
        request = request_from(Given.model_validate(given), sys.stdin)
    except WrongRequestError as error:
        raise click.UsageError(str(error)) from None
    return run_to_its_end(request, format_)


command = _decorated(_run)
