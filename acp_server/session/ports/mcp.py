"""The MCP server port of a session, and its commands.

How servers are started and spoken to is hidden behind the port. They contribute tools (through the
toolbox), slash commands, notices for the model, and a status page for the user.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Protocol

from pydantic import JsonValue

from acp_server.session.commands.registry import CommandRegistry, PromptCommand, SlashCommand
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import TurnSink

SHOW_SERVERS = "Show the MCP servers, their tools and prompts, and their problems"
COMMAND_OWNER = "mcp"
NO_SERVERS = "There are no MCP servers in this session."


@frozen_dataclass
class ProjectServers:
    """The servers that a workspace adds, as phrases, and problems with their configuration."""

    servers: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    tool_prefixes: tuple[str, ...] = ()
    """Prefixes of the tool names of these servers and of those already configured."""


class McpServersPort(Protocol):
    """The MCP servers of one session."""

    def start(self) -> None:
        """Start connecting in the background."""
        ...

    async def wait_ready(self) -> None:
        """Wait briefly for servers that are still connecting, then freeze the tools; only once."""
        ...

    async def refresh_tools(self) -> None:
        """Freeze the tools again; failed servers are retried."""
        ...

    def take_notices(self, allowed: Collection[str] | None = None) -> Sequence[str]:
        """Return sentences for the model about changes it does not know yet; each is returned once.

        `allowed` names the only tools that the model may use; None for all.
        """
        ...

    def commands(self) -> Sequence[PromptCommand]:
        """Return the servers' prompts as commands, as they are now."""
        ...

    def describe(self) -> str:
        """Describe the servers' state as Markdown."""
        ...

    def register(self, entries: JsonValue) -> ProjectServers:
        """Register the servers that the workspace requests; none is started."""
        ...

    def start_registered(self) -> None:
        """Start the servers that the workspace requested, after it was trusted."""
        ...

    async def close(self) -> None:
        """Stop all servers."""
        ...


class NoMcpServers:
    """A server port without servers."""

    def start(self) -> None:
        """Do nothing."""

    async def wait_ready(self) -> None:
        """Return immediately."""

    async def refresh_tools(self) -> None:
        """Do nothing."""

    def take_notices(self, allowed: Collection[str] | None = None) -> Sequence[str]:
        """Return no news."""
        del allowed
        return ()

    def commands(self) -> Sequence[PromptCommand]:
        """Return no commands."""
        return ()

    def describe(self) -> str:
        """Report that there are no servers."""
        return NO_SERVERS

    def register(self, entries: JsonValue) -> ProjectServers:
        """Ignore the request: nothing here can start servers."""
        del entries
        return ProjectServers()

    def start_registered(self) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


def _allow_all() -> None: ...


class McpSession:
    """MCP for one session: forwards to its servers, once set, and registers their commands."""

    def __init__(
        self,
        commands: CommandRegistry,
        requested: Sequence[ServerConfig] = (),
        allowed: Callable[[], Collection[str] | None] = _allow_all,
    ) -> None:
        """Start without servers; `requested` are the ones that the editor named.

        `allowed` returns the tools that the project restricts the session to, or None.
        """
        self.requested = tuple(requested)
        self._allowed = allowed
        self._registry = commands
        self._servers: McpServersPort = NoMcpServers()
        self._registered: Sequence[tuple[str, str, str | None]] = ()
        self._is_closed = False

    def set_servers(self, servers: McpServersPort) -> None:
        """Use and connect these servers; does nothing in a closed session."""
        if not self._is_closed:
            self._servers = servers
            servers.start()

    def update_commands(self) -> None:
        """Register the servers' commands again if they have changed."""
        commands = self._servers.commands()
        offered = [(each.name, each.description, each.hint) for each in commands]
        # Clients get the complete command list with each update, so unchanged lists are not sent.
        if offered != self._registered and not self._is_closed:
            self._registered = offered
            self._registry.set_owned(COMMAND_OWNER, commands)

    async def wait_ready(self) -> None:
        """Wait briefly for servers that are still connecting; only the first request does."""
        await self._servers.wait_ready()

    async def refresh_tools(self) -> None:
        """Update the tool list that the model gets."""
        await self._servers.refresh_tools()

    def take_notices(self) -> Sequence[str]:
        """Return server news for the next prompt, each in square brackets."""
        return [f"[{notice}]" for notice in self._servers.take_notices(self._allowed())]

    def register(self, entries: JsonValue) -> ProjectServers:
        """Register the servers that the workspace requests; none is started."""
        return self._servers.register(entries)

    def start_registered(self) -> None:
        """Start the servers that the workspace requested."""
        if not self._is_closed:
            self._servers.start_registered()

    def command(self, prepare: Callable[[], Awaitable[object]]) -> SlashCommand:
        """Return `/mcp`; `prepare` makes the servers available first."""

        async def show(arguments: str, sink: TurnSink) -> str:
            del arguments, sink
            await prepare()
            return self._servers.describe()

        return SlashCommand("mcp", SHOW_SERVERS, show)

    async def close(self) -> None:
        """Stop all servers; if cancelled, the process watcher stops them."""
        # Set before the await: servers that are still being set up must not start afterwards.
        self._is_closed = True
        await self._servers.close()
