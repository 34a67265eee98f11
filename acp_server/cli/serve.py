"""`acp-server serve`: help and usage errors of the command that runs the server.

Simple command lines are served by `acp_server.__main__` without importing this module, to start
faster. The function that serves is passed in as the click context object.
"""

from collections.abc import Callable
from types import UnionType
from typing import Literal, Union, get_args, get_origin

import click

from acp_server.cli.examples import ExampleCommand
from acp_server.config.table import setting_fields, setting_sources


def setting_options() -> list[click.Option]:
    """Return a click option for each setting that has one, with the setting's own description."""
    options: list[click.Option] = []
    for name, each in setting_fields().items():
        if each.source.option:
            choices = _allowed_values(each.plain_hint)
            variable = f" [{each.source.variable}]" if each.source.variable else ""
            option = click.Option(
                [each.source.option, name],
                type=click.Choice(choices) if choices else None,
                metavar="|".join(choices) or _placeholder(name, each.plain_hint),
                help=f"{each.source.description}{variable}.",
            )
            options.append(option)
    return options


def _allowed_values(hint: object) -> list[str]:
    """Return the allowed values of a setting, or an empty list for free text."""
    if hint is bool:
        return ["true", "false"]
    return [str(each) for each in get_args(hint)] if get_origin(hint) is Literal else []


def _placeholder(name: str, hint: object) -> str:
    """Return the placeholder of a free text in the help text."""
    parts = get_args(hint) if get_origin(hint) in {UnionType, Union} else ()
    return name.rpartition("_")[2].upper() if parts else "TEXT"


@click.pass_obj
def _serve(serve: Callable[[dict[str, str]], int], /, **values: str | None) -> int:
    """Run the ACP server on stdin and stdout until the client disconnects.

    This is the command for your editor's settings; `acp-server` without a command does the same.
    Each option can also be set with the environment variable in brackets. Logs go to stderr.
    """
    options = {
        setting_sources()[name].option: value for name, value in values.items() if value is not None
    }
    return serve(options)


command = ExampleCommand(
    "serve",
    callback=_serve,
    params=list[click.Parameter](setting_options()),
    help=_serve.__doc__,
)
