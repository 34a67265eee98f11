"""The `acp-server` command: its subcommands, found by name and imported only when they are asked.

Knows what each command is for, not what it does.
"""

import difflib
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import cast

import click
from click.shell_completion import CompletionItem

from acp_server.version import __version__

PROGRAM = "acp-server"
INTERRUPTED = 130

Serve = Callable[[dict[str, str]], int]
"""Takes options and their values; returns the exit code."""

COMMANDS: Mapping[str, str] = {
    "serve": "Speak ACP on stdin and stdout; this is what an editor starts.",
    "run": "Do one task without an editor, as a pipeline would.",
    "demo": "Watch the server at work, in this terminal.",
    "setup": "Store a key, choose a model of this machine, set an editor up.",
    "models": "List the models of every configured provider.",
    "config": "Show the settings and where they came from; edit and check them.",
    "trust": "Say whether a workspace's own settings and programs are used.",
    "prompt": "Show the system prompt of a session in a folder.",
    "context": "Say which files of instructions are used; trust a blocked one.",
    "memory": "Look at what is remembered beyond sessions, and change it.",
    "sessions": "List, show, search, export and delete past sessions.",
    "skills": "List, install, check and put away skills.",
    "doctor": "Check this installation and say what to do about it.",
    "completion": "Print the completion script of a shell.",
}

DESCRIPTION = """\
A coding agent for your editor, over the Agent Client Protocol.

Without a command it serves: your editor starts `acp-server` and talks to it over stdin and
stdout.
"""

EXAMPLES = """\
\b
Examples:
  acp-server demo                          see it at work, with nothing to set up
  acp-server setup                         store an API key
  acp-server doctor                        is everything in place?
  acp-server serve --model scripted:demo   what an editor would start, to try it there
  acp-server demo --json | head            the protocol itself, line by line
  eval "$(acp-server completion bash)"     complete commands and options with Tab
"""


class CommandGroup(click.Group):
    """The subcommands, in the order of `COMMANDS`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names."""
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"acp_server.cli.{cmd_name}")
        return cast("click.Command", module.command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is meant; name the nearest, if there is no such."""
        name = args[0]
        if name in COMMANDS or ctx.resilient_parsing or name.startswith("-"):
            return super().resolve_command(ctx, args)
        near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        guess = f"Did you mean {near[0]!r}?" if near else f"There are {', '.join(COMMANDS)}."
        raise click.UsageError(f"No such command {name!r}. {guess}", ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete a name without importing any command."""
        names = [name for name in COMMANDS if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [CompletionItem(name, help=COMMANDS[name]) for name in names] + options


@click.group(
    cls=CommandGroup,
    help=DESCRIPTION,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "--version", message="%(prog)s %(version)s")
def group() -> None:
    """Hold the subcommands together; there is nothing to do before them."""


def run_command(arguments: list[str], serve: Serve) -> int:
    """Run a command line and return its exit code; `serve` is what the command of that name does.

    0 is success, 1 a problem that was found, 2 a command line that cannot be, 130 Ctrl-C.
    """
    try:
        outcome: object = group.main(arguments, PROGRAM, standalone_mode=False, obj=serve)
    except click.Abort:
        return INTERRUPTED
    except click.ClickException as error:
        error.show()
        _show_allowed(error)
        return error.exit_code
    return outcome if isinstance(outcome, int) else 0


def _show_allowed(error: click.ClickException) -> None:
    """Say which options there are, to somebody who gave another."""
    if isinstance(error, click.NoSuchOption) and error.ctx is not None:
        parameters = error.ctx.command.get_params(error.ctx)
        options = [each.opts[-1] for each in parameters if isinstance(each, click.Option)]
        click.echo(f"Allowed here: {', '.join(options)}", err=True)
