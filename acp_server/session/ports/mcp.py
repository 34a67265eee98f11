"""The MCP server port of a session, and its commands.

How servers are started and spoken to is hidden behind the port. They contribute tools (through the
toolbox), slash commands, notices for the model, and a status page for the user.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from pydantic import JsonValue

from acp_server.session.commands.registry import Command, CommandRegistry, Errand
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.ports import Sink

SHOW_SERVERS = "Show the MCP servers, their tools and prompts, and their problems"
OWNER = "mcp"
NONE = "There are no MCP servers in this session."


@frozen
class Brought:
    """The servers that a workspace adds, as phrases, and problems with their configuration."""

    servers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    """Prefixes of the tool names of these servers and of those already configured."""


class Servers(Protocol):
    """The MCP servers of one session."""

    def begin(self) -> None:
        """Start connecting in the background."""
        ...

    async def ready(self) -> None:
        """Wait briefly for servers that are still connecting, then freeze the tools; only once."""
        ...

    async def rebuild(self) -> None:
        """Freeze the tools again; failed servers are retried."""
        ...

    def news(self, allowed: Collection[str] | None = None) -> Sequence[str]:
        """Return sentences for the model about changes it does not know yet; each is returned once.

        `allowed` names the only tools that the model may use; None for all.
        """
        ...

    def commands(self) -> Sequence[Errand]:
        """Return the servers' prompts as commands, as they are now."""
        ...

    def description(self) -> str:
        """Describe the servers' state as Markdown."""
        ...

    def bring(self, entries: JsonValue) -> Brought:
        """Register the servers that the workspace requests; none is started."""
        ...

    def admit(self) -> None:
        """Start the servers that the workspace requested, after it was trusted."""
        ...

    async def close(self) -> None:
        """Stop all servers."""
        ...


class NoServers:
    """A server port without servers."""

    def begin(self) -> None:
        """Do nothing."""

    async def ready(self) -> None:
        """Return immediately."""

    async def rebuild(self) -> None:
        """Do nothing."""

    def news(self, allowed: Collection[str] | None = None) -> Sequence[str]:
        """Return no news."""
        del allowed
        return ()

    def commands(self) -> Sequence[Errand]:
        """Return no commands."""
        return ()

    def description(self) -> str:
        """Report that there are no servers."""
        return NONE

    def bring(self, entries: JsonValue) -> Brought:
        """Ignore the request: nothing here can start servers."""
        del entries
        return Brought()

    def admit(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


def _all() -> None: ...


class ServerDesk:
    """MCP for one session: forwards to its servers, once set, and registers their commands."""

    def __init__(
        self,
        commands: CommandRegistry,
        requested: Sequence[ServerConfig] = (),
        allowed: Callable[[], Collection[str] | None] = _all,
    ) -> None:
        """Start without servers; `requested` are the ones that the editor named.

        `allowed` returns the tools that the project restricts the session to, or None.
        """
        self.requested = tuple(requested)
        self._allowed = allowed
        self._registry = commands
        self._servers: Servers = NoServers()
        self._offered: Sequence[tuple[str, str, str | None]] = ()
        self._is_closed = False

    def take(self, servers: Servers) -> None:
        """Use and connect these servers; does nothing in a closed session."""
        if not self._is_closed:
            self._servers = servers
            servers.begin()

    def note_change(self) -> None:
        """Register the servers' commands again if they have changed."""
        commands = self._servers.commands()
        offered = [(each.name, each.description, each.hint) for each in commands]
        # Clients get the complete command list with each update, so unchanged lists are not sent.
        if offered != self._offered and not self._is_closed:
            self._offered = offered
            self._registry.serve(OWNER, commands)

    async def ready(self) -> None:
        """Wait briefly for servers that are still connecting; only the first request does."""
        await self._servers.ready()

    async def rebuild(self) -> None:
        """Update the tool list that the model gets."""
        await self._servers.rebuild()

    def news(self) -> Sequence[str]:
        """Return server news for the next prompt, each in square brackets."""
        return [f"[{news}]" for news in self._servers.news(self._allowed())]

    def bring(self, entries: JsonValue) -> Brought:
        """Register the servers that the workspace requests; none is started."""
        return self._servers.bring(entries)

    def admit(self) -> None:
        """Start the servers that the workspace requested."""
        if not self._is_closed:
            self._servers.admit()

    def command(self, prepare: Callable[[], Awaitable[object]]) -> Command:
        """Return `/mcp`; `prepare` makes the servers available first."""

        async def show(arguments: str, sink: Sink) -> str:
            del arguments, sink
            await prepare()
            return self._servers.description()

        return Command("mcp", SHOW_SERVERS, show)

    async def close(self) -> None:
        """Stop all servers; if cancelled, the process watcher stops them."""
        # Set before the await: servers that are still being set up must not start afterwards.
        self._is_closed = True
        await self._servers.close()
