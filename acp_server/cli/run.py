"""`acp-server run`: runs one task, or many, unattended and without an editor."""

from collections.abc import Sequence
from itertools import pairwise

import click

from acp_server.cli.examples import ExampleCommand
from acp_server.cli.run_options import PARENT, run_parameters
from acp_server.cli.shutdown_signals import ShutdownSignals


class RunCommand(ExampleCommand):
    """Click command that prints a JSON result even if the command line is invalid."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; with a JSON format, print a result before a usage error.

        Raises:
            click.UsageError: The arguments are invalid.
        """
        original_args = [*args]
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            from acp_server.cli.run_outputs import print_failed_start

            print_failed_start(error.format_message(), _requested_format(original_args))
            raise


def _requested_format(arguments: Sequence[str]) -> str:
    """Return the value of `--format`, even if the rest of the command line is invalid."""
    words = [word for each in arguments for word in each.split("=", 1)]
    return next((value for name, value in pairwise(words) if name == "--format"), "text")


def _run(**options: object) -> int:
    """Run one task without an editor and report how it ended.

    The task is PROMPT or the text of --prompt-file. Piped input is appended to it; with `-` as
    PROMPT, the whole task is read from stdin. You are never asked for permission: actions that
    neither the mode nor a rule allows are denied. A RULE is TOOL or TOOL(PATTERN), where PATTERN is
    a path glob, the first words of a command, or a host.
    """
    # Handle signals before the slow imports below: a SIGTERM during them must still give a result.
    parent = options.pop(PARENT)
    if isinstance(parent, int):
        from acp_server.startup.parent_death import end_with_parent

        end_with_parent(parent)
    with ShutdownSignals() as signals:
        from acp_server.cli.run_dispatch import dispatch_run

        return dispatch_run(options, signals)


command = RunCommand("run", callback=_run, params=run_parameters(), help=_run.__doc__)
