"""`acp-server completion`: prints the scripts of click's shell completion."""

import click
from click.shell_completion import get_completion_class

from acp_server.cli.examples import ExampleCommand

VARIABLE = "_ACP_SERVER_COMPLETE"
SCRIPT_CALLS = {
    "bash": "bash_complete $1)",
    "zsh": "zsh_complete {program})",
    "fish": "COMP_CWORD=(commandline -t) {program})",
}
"""How click's scripts call the program: without arguments, which would start the server.

The argument `completion` is inserted there.
"""


@click.command(cls=ExampleCommand)
@click.argument("shell", type=click.Choice(list(SCRIPT_CALLS)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL (bash, zsh or fish)."""
    root = context.find_root()
    complete = get_completion_class(shell)
    if complete is None:
        raise click.ClickException(f"no completion is available for {shell}")
    program = root.info_name or ""
    source = complete(root.command, {}, program, VARIABLE).source()
    call = SCRIPT_CALLS[shell].format(program=program)
    click.echo(source.replace(call, f"{call.removesuffix(')')} completion)"), nl=False)
