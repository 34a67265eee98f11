"""`acp-server run`: one task, or many, without an editor and without anybody to ask."""

from collections.abc import Callable, Sequence

import click

from acp_server.cli.endings import Endings
from acp_server.cli.run_options import ALL

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


class RunCommand(click.Command):
    """Has a result for a machine even where the command line cannot be read."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments.

        Raises:
            click.UsageError: they are wrong.
        """
        given = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            from acp_server.cli.run_outputs import refuse

            refuse(error.format_message(), _format_in(given))
            raise


def _format_in(arguments: Sequence[str]) -> str:
    """Return the format that arguments name, however wrong the rest of them is."""
    pairs = zip(arguments, (*arguments[1:], ""), strict=True)
    named = [value for name, value in pairs if name == "--format"]
    joined = [each.partition("=")[2] for each in arguments if each.startswith("--format=")]
    return next(iter((*named, *joined)), "text")


def _run(**options: object) -> int:
    """Do one task and say truly how it ended.

    The task is PROMPT, or a file; what is piped in comes with it, and `-` takes all of it from
    there. A policy answers in a person's place: what is not allowed is denied. A RULE is TOOL or
    TOOL(WHAT): a pattern of paths, the first words of a command, or a host.
    """
    with Endings() as endings:  # before the imports, which take longer than all that is above
        from acp_server.cli.run_choice import do

        return do(options, endings)


def _decorated(function: Callable[..., int]) -> click.Command:
    """Return the command with its options."""
    for option in reversed(ALL):
        function = option(function)
    return click.command(name="run", cls=RunCommand, epilog=EXAMPLES)(function)


command = _decorated(_run)
