"""The `acp-server` command group; each subcommand is imported only when it is used.

The summaries are kept here so that `acp-server --help` stays fast.
"""

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

import click
from click.shell_completion import CompletionItem

from acp_server.cli.examples import ExampleGroup
from acp_server.version import __version__

PROGRAM = "acp-server"
INTERRUPTED_EXIT_CODE = 130

ServeCallback = Callable[[dict[str, str]], int]
"""Callback that runs the server: takes options and their values, returns the exit code."""

COMMANDS: Mapping[str, str] = {
    "serve": "Run the ACP server on stdin and stdout; editors start this.",
    "run": "Run a task without an editor, for scripts and CI.",
    "report": "Write reports on runs with many tasks, also on shards together.",
    "compare": "Compare two runs of the same tasks.",
    "demo": "Watch a demo session in this terminal; no account needed.",
    "setup": "Store an API key, choose a local model or set up an editor.",
    "models": "List the models of each configured provider.",
    "config": "Show, edit and check the settings.",
    "mcp": "List the MCP servers, and sign in to one or out.",
    "trust": "Trust a workspace's own settings, skills and programs.",
    "prompt": "Show the system prompt of a session.",
    "context": "List instruction files (AGENTS.md); trust a blocked one.",
    "memory": "Show and change what the agent remembers across sessions.",
    "sessions": "List, show, search, export and delete past sessions.",
    "skills": "List, install, validate and archive skills.",
    "doctor": "Check this installation and suggest fixes.",
    "completion": "Print a shell completion script.",
}


class CommandGroup(ExampleGroup):
    """Click group that lists the subcommands in the order of `COMMANDS` and imports them lazily."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the subcommands."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a subcommand, or return None if there is none of that name."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"acp_server.cli.{cmd_name}")
        return cast("click.Command", module.command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a subcommand; an unknown name is a usage error that suggests the nearest one.

        Raises:
            click.UsageError: There is no such command.
        """
        name = args[0]
        if name in COMMANDS or ctx.resilient_parsing or name.startswith("-"):
            return super().resolve_command(ctx, args)
        matches = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        hint = f"Did you mean {matches[0]!r}?" if matches else f"Available: {', '.join(COMMANDS)}."
        raise click.UsageError(f"No such command {name!r}. {hint}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the command list to the help text without importing any command."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return completions for a command name without importing any command."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=COMMANDS[name]) for name in names] + options


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--profile",
    expose_value=False,
    help="Use a profile of the home directory, also after a command. [ACP_SERVER_PROFILE]",
)
@click.version_option(__version__, "--version", message="%(prog)s %(version)s")
def group() -> None:
    """A coding agent for your editor, over the Agent Client Protocol.

    Without a command, it runs the server: your editor starts `acp-server` and talks to it over
    stdin and stdout.
    """


def run_command(arguments: list[str], serve: ServeCallback) -> int:
    """Run a command line and return its exit code; `serve` implements the `serve` command.

    Exit codes: 0 success, 1 a problem was found, 2 usage error, 130 interrupted by Ctrl-C.
    """
    try:
        outcome: object = group.main(arguments, PROGRAM, standalone_mode=False, obj=serve)
    except click.Abort:
        return INTERRUPTED_EXIT_CODE
    except click.ClickException as error:
        error.show()
        if isinstance(error, click.NoSuchOption) and error.ctx is not None:
            parameters = error.ctx.command.get_params(error.ctx)
            options = [each.opts[-1] for each in parameters if isinstance(each, click.Option)]
            click.echo(f"Available options: {', '.join(options)}", err=True)
        return error.exit_code
    except BrokenPipeError:
        raise
    # What a path or a text of the user's leads to, such as a name that is too long.
    except (OSError, UnicodeError) as error:
        click.echo(f"{PROGRAM}: {error}", err=True)
        return 1
    return outcome if isinstance(outcome, int) else 0
