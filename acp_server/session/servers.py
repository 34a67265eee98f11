"""What a session knows of MCP servers: a port, none as one way to provide it, and their desk.

How servers are started, spoken to and ended is not known here; what they offer comes as tools
(through the toolbox), as commands, as news for the model and as a page for the user.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.session.commands import Command, CommandRegistry, Errand
from acp_server.session.server_configs import ServerConfig
from acp_server.turn.ports import Sink

SHOW_SERVERS = "Show the MCP servers: what they offer, and what is wrong with them"
OWNER = "mcp"
NONE = "There are no MCP servers in this session."


@frozen
class Brought:
    """The servers that a workspace brings, in a phrase each, and what was not understood."""

    servers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """With what the names of tools begin, of these servers and of those that are there already."""


class Servers(Protocol):
    """The servers of one session."""

    def begin(self) -> None:
        """Have them connected in the background."""
        ...

    async def ready(self) -> None:
        """Wait a little for those that still connect, then fix the tools; only the first time."""
        ...

    async def rebuild(self) -> None:
        """Fix the tools anew; what was given up is tried once more."""
        ...

    def news(self, allowed: Collection[str] | None = None) -> Sequence[str]:
        """Return what the model does not know yet, in sentences, and take it for told.

        `allowed` are the names of the only tools that it may have; None for all.
        """
        ...

    def commands(self) -> Sequence[Errand]:
        """Return their prompts as commands, as they are now."""
        ...

    def description(self) -> str:
        """Return their state as Markdown."""
        ...

    def bring(self, entries: JsonValue) -> Brought:
        """Take down which servers the workspace brings; none of them is started."""
        ...

    def admit(self) -> None:
        """Use the servers that the workspace brings: it is trusted."""
        ...

    async def close(self) -> None:
        """End them all."""
        ...


class NoServers:
    """There are none."""

    def begin(self) -> None:
        """There is nothing to connect."""

    async def ready(self) -> None:
        """There is nothing to wait for."""

    async def rebuild(self) -> None:
        """There is nothing to fix."""

    def news(self, allowed: Collection[str] | None = None) -> Sequence[str]:
        """There are none."""
        del allowed
        return ()

    def commands(self) -> Sequence[Errand]:
        """There are none."""
        return ()

    def description(self) -> str:
        """Say so."""
        return NONE

    def bring(self, entries: JsonValue) -> Brought:
        """Nobody could start them."""
        del entries
        return Brought()

    def admit(self) -> None:
        """There is nothing to use."""

    async def close(self) -> None:
        """There is nothing to end."""


def _all() -> None: ...


class ServerDesk:
    """One session's servers, from when they are there, and their commands beside its own."""

    def __init__(
        self,
        commands: CommandRegistry,
        requested: Sequence[ServerConfig] = (),
        allowed: Callable[[], Collection[str] | None] = _all,
    ) -> None:
        """Prepare; `requested` are those that the editor has named for this session.

        `allowed` says to which tools the project narrows them, if it does.
        """
        self.requested = tuple(requested)
        self._allowed = allowed
        self._registry = commands
        self._servers: Servers = NoServers()
        self._offered: Sequence[tuple[str, str, str | None]] = ()
        self._is_closed = False

    def take(self, servers: Servers) -> None:
        """Have these connected, and use them from now on; a session that is over starts none."""
        if not self._is_closed:
            self._servers = servers
            servers.begin()

    def note_change(self) -> None:
        """Serve the commands that there are now, if they are others than before."""
        commands = self._servers.commands()
        offered = [(each.name, each.description, each.hint) for each in commands]
        if offered != self._offered and not self._is_closed:
            self._offered = offered
            self._registry.serve(OWNER, commands)

    async def ready(self) -> None:
        """Wait a little for servers that still connect; only the first call of the model does."""
        await self._servers.ready()

    async def rebuild(self) -> None:
        """Have the model told of the tools as they are now."""
        await self._servers.rebuild()

    def news(self) -> Sequence[str]:
        """Return what the model is to be told with the next prompt, each in brackets of ours."""
        return [f"[{news}]" for news in self._servers.news(self._allowed())]

    def bring(self, entries: JsonValue) -> Brought:
        """Take down which servers the workspace brings; none of them is started."""
        return self._servers.bring(entries)

    def admit(self) -> None:
        """Use the servers that the workspace brings."""
        if not self._is_closed:
            self._servers.admit()

    def command(self, prepare: Callable[[], Awaitable[object]]) -> Command:
        """Return `/mcp`; `prepare` has the servers there."""

        async def show(arguments: str, sink: Sink) -> str:
            del arguments, sink
            await prepare()
            return self._servers.description()

        return Command("mcp", SHOW_SERVERS, show)

    async def close(self) -> None:
        """End them all; cancelling leaves the end to whoever watches over processes."""
        self._is_closed = True
        await self._servers.close()
