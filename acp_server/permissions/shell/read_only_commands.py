"""The table of commands that only read, loaded from `read_only_commands.toml` at the first command.

A flag or command that is not in it asks. Aliases share the entry of their command.
"""

import tomllib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TypedDict, cast

from acp_server.permissions.shell.findings import GitOutput
from acp_server.permissions.shell.options import AllowedOptions
from acp_server.startup.fast_dataclass import frozen_dataclass


class CommandTable(TypedDict, total=False):
    """An entry of the file; its other keys are the fields of `AllowedOptions`."""

    aliases: list[str]
    judge: str
    """Name of the function that judges the arguments."""
    max_operands: int
    """How many operands are allowed, if a further one may be an output file."""
    includes: list[str]
    """Groups of `git_flags` whose flags are allowed, too."""
    listing_flags: str
    """Flags with which git lists the operands; without one, it would change them."""
    output: GitOutput
    """Contents of files that git may print; none if it is absent."""
    asks: str
    """Reason to ask about all uses that have no entry of their own."""


class _Document(TypedDict):
    commands: dict[str, CommandTable]
    git: dict[str, CommandTable]
    git_flags: dict[str, dict[str, str | bool]]
    version_flags: dict[str, str]


@frozen_dataclass
class ReadOnlyCommand:
    """A command, or a subcommand of git, with its allowed flags and the name of its judge."""

    table: CommandTable
    options: AllowedOptions


@frozen_dataclass
class ReadOnlyCommands:
    """The whole table; commands and git's subcommands by name."""

    commands: Mapping[str, ReadOnlyCommand]
    git: Mapping[str, ReadOnlyCommand]
    """One or two words: the subcommand, and that of the subcommand."""
    version_flags: Mapping[str, str]


@cache
def load_read_only_commands() -> ReadOnlyCommands:
    """Return the table of read-only commands; reading it takes a few ms."""
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    document = cast("_Document", tomllib.loads(text))
    groups = document["git_flags"]
    return ReadOnlyCommands(
        _load_commands(document["commands"], groups),
        _load_commands(document["git"], groups),
        document["version_flags"],
    )


def _load_commands(
    tables: Mapping[str, CommandTable], groups: Mapping[str, Mapping[str, str | bool]]
) -> dict[str, ReadOnlyCommand]:
    commands: dict[str, ReadOnlyCommand] = {}
    for name, table in tables.items():
        fields = {
            key: value for key, value in table.items() if key not in CommandTable.__annotations__
        }
        for group in table.get("includes", ()):
            for key, value in groups[group].items():
                # Long flags are words, short ones characters.
                gap = " " if key.startswith("long_") else ""
                fields[key] = f"{fields.get(key, '')}{gap}{value}" if value is not True else True
        options = cast("Callable[..., AllowedOptions]", AllowedOptions)(**fields)
        for each in (name, *table.get("aliases", ())):
            commands[each] = ReadOnlyCommand(table, options)
    return commands
