"""`acp-server serve`: help and usage errors of the command that runs the server.

Simple command lines are served by `acp_server.__main__` without importing this module, to start
faster. The function that serves is passed in as the click context object.
"""

from collections.abc import Callable
from types import UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import click

from acp_server.config.settings import Settings, setting_sources

EXAMPLES = """\
\b
Examples:
  acp-server serve
  acp-server serve --model scripted:demo --mode plan
  acp-server serve --log-level debug --log-file ~/acp.log
"""


def setting_options() -> list[click.Option]:
    """Return a click option for each setting that has one, with the setting's own description."""
    hints = get_type_hints(Settings)
    options: list[click.Option] = []
    for name, source in setting_sources().items():
        if source.option:
            values = _allowed_values(hints[name])
            is_union = get_origin(hints[name]) in {UnionType, Union}
            placeholder = name.rpartition("_")[2].upper() if is_union else "TEXT"
            variable = f" [{source.variable}]" if source.variable else ""
            option = click.Option(
                [source.option, name],
                type=click.Choice(values) if values else None,
                metavar="|".join(values) or placeholder,
                help=f"{source.description}{variable}.",
            )
            options.append(option)
    return options


def _allowed_values(hint: object) -> list[str]:
    """Return the allowed values of a setting, or an empty list for free text."""
    if hint is bool:
        return ["true", "false"]
    return [str(each) for each in get_args(hint)] if get_origin(hint) is Literal else []


@click.pass_obj
def _serve(serve: Callable[[dict[str, str]], int], /, **values: str | None) -> int:
    options = {
        setting_sources()[name].option: value for name, value in values.items() if value is not None
    }
    return serve(options)


command = click.Command(
    "serve",
    callback=_serve,
    params=list[click.Parameter](setting_options()),
    help="""Run the ACP server on stdin and stdout until the client disconnects.

    This is the command for your editor's settings; `acp-server` without a command does the same.
    Each option can also be set with the environment variable in brackets. Logs go to stderr.
    """,
    epilog=EXAMPLES,
)
