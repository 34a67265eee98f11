"""`acp-server serve`, for command lines that do not take the short way to serving.

Owns its help and its usage errors; what serves is handed in.
"""

from collections.abc import Callable
from types import UnionType
from typing import Literal, Union, get_args, get_origin, get_type_hints

import click

from acp_server.settings import Settings, sources

EXAMPLES = """\
\b
Examples:
  acp-server serve
  acp-server serve --model scripted:demo --mode plan
  acp-server serve --log-level debug --log-file ~/acp.log
"""


def setting_options() -> list[click.Option]:
    """Return an option for each setting, described by the setting's own documentation."""
    hints = get_type_hints(Settings)
    return [
        click.Option(
            [source.option, name],
            type=_choices(hints[name]),
            metavar=_placeholder(name, hints[name]),
            help=f"{source.meaning}{f' [{source.variable}]' if source.variable else ''}.",
        )
        for name, source in sources().items()
        if source.option
    ]


def _choices(hint: object) -> click.Choice[str] | None:
    """Return what checks a value of which there are only few; None for any text."""
    values = _values(hint)
    return click.Choice(values) if values else None


def _values(hint: object) -> list[str]:
    """Return the values of a setting that has only few."""
    if hint is bool:
        return ["true", "false"]
    return [str(each) for each in get_args(hint)] if get_origin(hint) is Literal else []


def _placeholder(name: str, hint: object) -> str:
    """Return what help shows for a value: the choices, where they are few."""
    if _values(hint):
        return "|".join(_values(hint))
    parts = get_args(hint) if get_origin(hint) in {UnionType, Union} else ()
    return name.rpartition("_")[2].upper() if parts else "TEXT"


@click.pass_obj
def _serve(serve: Callable[[dict[str, str]], int], /, **given: str | None) -> int:
    options = {sources()[name].option: value for name, value in given.items() if value is not None}
    return serve(options)


command = click.Command(
    "serve",
    callback=_serve,
    params=list[click.Parameter](setting_options()),
    help="""Speak ACP on stdin and stdout until the client leaves.

    The same as `acp-server` alone, with options; an editor's settings name this command. The
    variable in brackets sets the same. Logs go to stderr, never to stdout.
    """,
    epilog=EXAMPLES,
)
