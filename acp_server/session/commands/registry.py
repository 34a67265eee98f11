"""The slash commands of a session by name, `/help` and `/version`."""

from collections.abc import Iterable, Mapping, Sequence

import anyio

from acp_server.session.commands.command import (
    Command,
    CommandInvocation,
    ListedCommand,
    PromptCommand,
    SlashCommand,
)
from acp_server.session.commands.similar_names import find_similar_names
from acp_server.session.ports.observer import NullObserver, SessionObserver
from acp_server.turn.ports import TurnSink
from acp_server.version import __version__


class CommandRegistry:
    """The commands of a session, by name."""

    def __init__(
        self,
        commands: Sequence[SlashCommand | PromptCommand] = (),
        observer: SessionObserver | None = None,
    ) -> None:
        """Start with these commands; the observer learns of later changes."""
        self._observer = observer or NullObserver()
        self._commands: dict[str, SlashCommand | PromptCommand] = {}
        self._owned: dict[str, Mapping[str, SlashCommand | PromptCommand]] = {}
        self._listed: dict[str, ListedCommand] = {}
        self.is_announced = anyio.Event()
        self.add(
            SlashCommand(
                "help",
                "List the commands, or explain one",
                self._help,
                "[command]",
                only_reads=True,
            ),
            SlashCommand("version", "Show the version of acp-server", _version, only_reads=True),
            *commands,
        )

    def add(self, *commands: SlashCommand | PromptCommand) -> None:
        """Add commands; they replace commands of the same name."""
        self._commands.update({command.name: command for command in commands})

    def set_owned(self, owner: str, commands: Iterable[SlashCommand | PromptCommand]) -> None:
        """Replace the commands that an owner serves; commands from `add` take precedence."""
        # Clients get the complete command list with each update, so unchanged lists are not sent.
        before = _listing(self._owned.get(owner, {}).values())
        self._owned[owner] = {command.name: command for command in commands}
        if _listing(self._owned[owner].values()) != before:
            self._report_change()

    def set_listed(self, commands: Iterable[ListedCommand]) -> None:
        """Replace the listed commands; commands answered here take precedence in the list."""
        before = _listing(self._listed.values())
        self._listed = {command.name: command for command in commands}
        if _listing(self._listed.values()) != before:
            self._report_change()

    def announce(self) -> None:
        """Report the commands for the first time; later only their changes are reported.

        Call it once all sources have been read, so that clients get one complete list.
        """
        if not self.is_announced.is_set():
            self.is_announced.set()
            self._report_change()

    def _report_change(self) -> None:
        if self.is_announced.is_set():
            self._observer.commands_changed(self.all())

    def is_known(self, name: str) -> bool:
        """Return whether there is a slash or prompt command of this name; skills do not count."""
        return self._find(name) is not None

    def is_owned(self, name: str, owner: str) -> bool:
        """Return whether this owner, and none before it, serves the command of this name."""
        return self._find(name) is self._owned.get(owner, {}).get(name)

    def only_reads(self, invocation: CommandInvocation) -> bool:
        """Return whether a command changes nothing, so that it need not wait for a turn."""
        command = self._find(invocation.name)
        return isinstance(command, SlashCommand) and command.only_reads

    def find_prompt_command(self, name: str) -> PromptCommand | None:
        """Return the prompt command of this name, if it is one."""
        command = self._find(name)
        return command if isinstance(command, PromptCommand) else None

    def all(self) -> tuple[Command, ...]:
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

    def _all(self) -> Mapping[str, Command]:
        # The same precedence as in `_find`; the last mapping below wins.
        served = {n: each for commands in self._owned.values() for n, each in commands.items()}
        return {**self._listed, **served, **self._commands}

    def _explain_unknown(self, name: str) -> str:
        similar = find_similar_names(name, self._all())
        guess = f" Did you mean {' or '.join(f'`/{each}`' for each in similar)}?" if similar else ""
        return f"There is no command `/{name}`.{guess} `/help` lists them all."


def _format_usage(command: Command) -> str:
    return f"`/{command.name} {command.hint}`" if command.hint else f"`/{command.name}`"


async def _version(arguments: str, sink: TurnSink) -> str:
    del arguments, sink
    return f"acp-server {__version__}"


def _listing(commands: Iterable[Command]) -> Sequence[tuple[str, str, str | None]]:
    """Return what clients show of commands."""
    return [(each.name, each.description, each.hint) for each in commands]
