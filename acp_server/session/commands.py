"""Slash commands: the registry, what is one, and those that need no session."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from acp_server.frozen import frozen
from acp_server.session.loading import near_names
from acp_server.turn.ports import Sink
from acp_server.version import __version__

_FIRST_WORD = re.compile(r"/([a-z][\w.:-]{0,99})(?:\s+(.*))?", re.DOTALL)


@frozen
class Command:
    """A command: its name without the slash, what it does, what may follow it, and its answer."""

    name: str
    description: str
    run: Callable[[str, Sink], Awaitable[str]]
    """Takes what follows the name, and somebody to tell while it works; returns Markdown."""
    hint: str | None = None


@frozen
class Errand:
    """A command that the model carries out: a turn whose prompt takes the place of what was typed.

    `prepare` takes what follows the name and returns the prompt. It raises ErrandError.
    """

    name: str
    description: str
    prepare: Callable[[str], Awaitable[str]]
    hint: str | None = None


class ErrandError(Exception):
    """The command cannot be carried out now; the text tells the user why, and what to do."""


@frozen
class Offer:
    """A command that the session passes on and does not answer itself."""

    name: str
    description: str
    hint: str | None = None


@frozen
class Invocation:
    """A command as the user typed it."""

    name: str
    arguments: str


def parse_invocation(text: str) -> Invocation | None:
    """Return the command that a prompt is, or None for ordinary text.

    A command is a first word of a slash and a name with no further slash, so `/etc/hosts is
    broken` is text.
    """
    found = _FIRST_WORD.fullmatch(text.strip())
    return Invocation(found[1], (found[2] or "").strip()) if found else None


class CommandRegistry:
    """The commands of a session, by name."""

    def __init__(self, commands: Sequence[Command | Errand] = ()) -> None:
        self.on_change: Callable[[], None] = _nobody
        """Called when somebody has changed the commands that they serve."""
        self._commands: dict[str, Command | Errand] = {}
        self._served: dict[str, Mapping[str, Command | Errand]] = {}
        self._offers: dict[str, Offer] = {}
        self.add(
            Command("help", "List the commands, or explain one", self._help, "[command]"),
            Command("version", "Say which version of acp-server this is", _version),
            *commands,
        )

    def add(self, *commands: Command | Errand) -> None:
        """Add commands; those of the same name give way."""
        self._commands.update({command.name: command for command in commands})

    def serve(self, owner: str, commands: Iterable[Command | Errand]) -> None:
        """Answer these too, in the place of those that the owner had; added ones win."""
        self._served[owner] = {command.name: command for command in commands}
        self.on_change()

    def offer(self, offers: Iterable[Offer]) -> None:
        """List these too, in the place of those before; what is answered here wins."""
        self._offers = {offer.name: offer for offer in offers}

    def is_known(self, name: str) -> bool:
        """Whether a command of the name is answered here."""
        return self._answered(name) is not None

    def errand(self, name: str) -> Errand | None:
        """Return the command of a name if it is one for the model."""
        command = self._answered(name)
        return command if isinstance(command, Errand) else None

    def all(self) -> tuple[Command | Errand | Offer, ...]:
        """Return the commands in the order of their names."""
        found = self._all()
        return tuple(found[name] for name in sorted(found))

    async def answer(self, invocation: Invocation, sink: Sink) -> str:
        """Return the Markdown answer to a command, known or not.

        Raises:
            TurnError: the command needed the model, and could not have it.
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
