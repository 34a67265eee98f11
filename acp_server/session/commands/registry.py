"""Slash commands: the registry, how a prompt is parsed as a command, `/help` and `/version`."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from acp_server.session.lazy_imports import find_similar_names
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import TurnSink
from acp_server.version import __version__

_FIRST_WORD = re.compile(r"/([a-z][\w.:-]{0,99})(?:\s+(.*))?", re.DOTALL)


@frozen_dataclass
class SlashCommand:
    """A slash command that the session answers itself, without the model."""

    name: str
    description: str
    run: Callable[[str, TurnSink], Awaitable[str]]
    """Takes the argument text and a sink for progress events; returns Markdown."""
    hint: str | None = None


@frozen_dataclass
class PromptCommand:
    """A prompt command: the model carries it out in a turn whose prompt replaces the typed text.

    `prepare` takes the argument text and returns the prompt. It raises PromptCommandError.
    """

    name: str
    description: str
    prepare: Callable[[str], Awaitable[str]]
    hint: str | None = None


class PromptCommandError(Exception):
    """The command cannot be carried out now; the text tells the user why and how to proceed."""


@frozen_dataclass
class ListedCommand:
    """A command that is listed here but answered elsewhere, such as a skill."""

    name: str
    description: str
    hint: str | None = None


@frozen_dataclass
class CommandInvocation:
    """A command as the user typed it."""

    name: str
    arguments: str


def parse_invocation(text: str) -> CommandInvocation | None:
    """Parse a prompt as a slash command; return None for ordinary text.

    A command is a slash and a name without another slash as the first word, so `/etc/hosts is
    broken` is ordinary text.
    """
    found = _FIRST_WORD.fullmatch(text.strip())
    return CommandInvocation(found[1], (found[2] or "").strip()) if found else None


class CommandRegistry:
    """The commands of a session, by name."""

    def __init__(self, commands: Sequence[SlashCommand | PromptCommand] = ()) -> None:
        self.on_change: Callable[[], None] = _ignore_change
        """Called when an owner has replaced the commands it serves."""
        self._commands: dict[str, SlashCommand | PromptCommand] = {}
        self._owned: dict[str, Mapping[str, SlashCommand | PromptCommand]] = {}
        self._listed: dict[str, ListedCommand] = {}
        self.add(
            SlashCommand("help", "List the commands, or explain one", self._help, "[command]"),
            SlashCommand("version", "Show the version of acp-server", _version),
            *commands,
        )

    def add(self, *commands: SlashCommand | PromptCommand) -> None:
        """Add commands; they replace commands of the same name."""
        self._commands.update({command.name: command for command in commands})

    def set_owned(self, owner: str, commands: Iterable[SlashCommand | PromptCommand]) -> None:
        """Replace the commands that an owner serves; commands from `add` take precedence."""
        self._owned[owner] = {command.name: command for command in commands}
        self.on_change()

    def set_listed(self, commands: Iterable[ListedCommand]) -> None:
        """Replace the offered commands; commands answered here take precedence in the list."""
        self._listed = {command.name: command for command in commands}

    def is_known(self, name: str) -> bool:
        """Return whether a command of this name is answered here."""
        return self._find(name) is not None

    def find_prompt_command(self, name: str) -> PromptCommand | None:
        """Return the prompt command of this name, if it is one."""
        command = self._find(name)
        return command if isinstance(command, PromptCommand) else None

    def all(self) -> tuple[SlashCommand | PromptCommand | ListedCommand, ...]:
        """Return the commands sorted by name."""
        found = self._all()
        return tuple(found[name] for name in sorted(found))

    async def run(self, invocation: CommandInvocation, sink: TurnSink) -> str:
        """Return the Markdown answer to a command, known or not.

        Raises:
            TurnError: the command needed the model, which could not be asked or failed.
        """
        command = self._find(invocation.name)
        if not isinstance(command, SlashCommand):
            return self._explain_unknown(invocation.name)
        return await command.run(invocation.arguments, sink)

    async def _help(self, arguments: str, sink: TurnSink) -> str:
        del sink
        name = arguments.removeprefix("/")
        if not name:
            lines = [f"- {_format_usage(command)}: {command.description}" for command in self.all()]
            return "Commands:\n\n" + "\n".join(lines)
        command = self._all().get(name)
        return (
            f"{_format_usage(command)}: {command.description}"
            if command
            else self._explain_unknown(name)
        )

    def _find(self, name: str) -> SlashCommand | PromptCommand | None:
        # Built-in commands come first: a server's prompt must not be able to take over `/undo`,
        # say.
        served = (commands[name] for commands in self._owned.values() if name in commands)
        return self._commands.get(name) or next(served, None)

    def _all(self) -> Mapping[str, SlashCommand | PromptCommand | ListedCommand]:
        # The same precedence as in `_find`; the last mapping below wins.
        served = {n: each for commands in self._owned.values() for n, each in commands.items()}
        return {**self._listed, **served, **self._commands}

    def _explain_unknown(self, name: str) -> str:
        similar = find_similar_names(name, self._all())
        guess = f" Did you mean {' or '.join(f'`/{each}`' for each in similar)}?" if similar else ""
        return f"There is no command `/{name}`.{guess} `/help` lists them all."


def _format_usage(command: SlashCommand | PromptCommand | ListedCommand) -> str:
    return f"`/{command.name} {command.hint}`" if command.hint else f"`/{command.name}`"


async def _version(arguments: str, sink: TurnSink) -> str:
    del arguments, sink
    return f"acp-server {__version__}"


def _ignore_change() -> None: ...
