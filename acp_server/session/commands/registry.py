"""Slash commands: the registry, how a prompt is parsed as a command, `/help` and `/version`."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from acp_server.session.lazy_imports import near_names
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.ports import Sink
from acp_server.version import __version__

_FIRST_WORD = re.compile(r"/([a-z][\w.:-]{0,99})(?:\s+(.*))?", re.DOTALL)


@frozen
class Command:
    """A slash command that the session answers itself, without the model."""

    name: str
    description: str
    run: Callable[[str, Sink], Awaitable[str]]
    """Takes the argument text and a sink for progress events; returns Markdown."""
    hint: str | None = None


@frozen
class Errand:
    """A prompt command: the model carries it out in a turn whose prompt replaces the typed text.

    `prepare` takes the argument text and returns the prompt. It raises PromptCommandError.
    """

    name: str
    description: str
    prepare: Callable[[str], Awaitable[str]]
    hint: str | None = None


class ErrandError(Exception):
    """The command cannot be carried out now; the text tells the user why and how to proceed."""


@frozen
class Offer:
    """A command that is listed here but answered elsewhere, such as a skill."""

    name: str
    description: str
    hint: str | None = None


@frozen
class Invocation:
    """A command as the user typed it."""

    name: str
    arguments: str


def parse_invocation(text: str) -> Invocation | None:
    """Parse a prompt as a slash command; return None for ordinary text.

    A command is a slash and a name without another slash as the first word, so `/etc/hosts is
    broken` is ordinary text.
    """
    found = _FIRST_WORD.fullmatch(text.strip())
    return Invocation(found[1], (found[2] or "").strip()) if found else None


class CommandRegistry:
    """The commands of a session, by name."""

    def __init__(self, commands: Sequence[Command | Errand] = ()) -> None:
        self.on_change: Callable[[], None] = _nobody
        """Called when an owner has replaced the commands it serves."""
        self._commands: dict[str, Command | Errand] = {}
        self._served: dict[str, Mapping[str, Command | Errand]] = {}
        self._offers: dict[str, Offer] = {}
        self.add(
            Command("help", "List the commands, or explain one", self._help, "[command]"),
            Command("version", "Show the version of acp-server", _version),
            *commands,
        )

    def add(self, *commands: Command | Errand) -> None:
        """Add commands; they replace commands of the same name."""
        self._commands.update({command.name: command for command in commands})

    def serve(self, owner: str, commands: Iterable[Command | Errand]) -> None:
        """Replace the commands that an owner serves; commands from `add` take precedence."""
        self._served[owner] = {command.name: command for command in commands}
        self.on_change()

    def offer(self, offers: Iterable[Offer]) -> None:
        """Replace the offered commands; commands answered here take precedence in the list."""
        self._offers = {offer.name: offer for offer in offers}

    def is_known(self, name: str) -> bool:
        """Return whether a command of this name is answered here."""
        return self._answered(name) is not None

    def errand(self, name: str) -> Errand | None:
        """Return the prompt command of this name, if it is one."""
        command = self._answered(name)
        return command if isinstance(command, Errand) else None

    def all(self) -> tuple[Command | Errand | Offer, ...]:
        """Return the commands sorted by name."""
        found = self._all()
        return tuple(found[name] for name in sorted(found))

    async def answer(self, invocation: Invocation, sink: Sink) -> str:
        """Return the Markdown answer to a command, known or not.

        Raises:
            TurnError: the command needed the model, which could not be asked or failed.
        """
        command = self._answered(invocation.name)
        if not isinstance(command, Command):
            return self._unknown(invocation.name)
        return await command.run(invocation.arguments, sink)

    async def _help(self, arguments: str, sink: Sink) -> str:
        del sink
        name = arguments.removeprefix("/")
        if not name:
            lines = [f"- {_usage(command)}: {command.description}" for command in self.all()]
            return "Commands:\n\n" + "\n".join(lines)
        command = self._all().get(name)
        return f"{_usage(command)}: {command.description}" if command else self._unknown(name)

    def _answered(self, name: str) -> Command | Errand | None:
        # Built-in commands come first: a server's prompt must not be able to take over `/undo`,
        # say.
        served = (commands[name] for commands in self._served.values() if name in commands)
        return self._commands.get(name) or next(served, None)

    def _all(self) -> Mapping[str, Command | Errand | Offer]:
        served = {n: each for commands in self._served.values() for n, each in commands.items()}
        return {**self._offers, **served, **self._commands}

    def _unknown(self, name: str) -> str:
        near = near_names(name, self._all())
        guess = f" Did you mean {' or '.join(f'`/{each}`' for each in near)}?" if near else ""
        return f"There is no command `/{name}`.{guess} `/help` lists them all."


def _usage(command: Command | Errand | Offer) -> str:
    return f"`/{command.name} {command.hint}`" if command.hint else f"`/{command.name}`"


async def _version(arguments: str, sink: Sink) -> str:
    del arguments, sink
    return f"acp-server {__version__}"


def _nobody() -> None: ...
