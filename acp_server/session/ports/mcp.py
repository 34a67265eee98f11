"""The MCP server port of a session.

How servers are started and spoken to is hidden behind the port. They contribute tools (through the
toolbox), slash commands, notices for the model, and a status page for the user.
"""

from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Literal, Protocol

from pydantic import JsonValue

from acp_server.permissions.trust import ProjectUse
from acp_server.session.commands.command import PromptCommand
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import PromptPart, UserPart
from acp_server.turn.ports import TurnSink

ShowText = Callable[[str], Awaitable[None]]
"""Shows a text to the user at once."""
NO_SERVERS = "There are no MCP servers in this session."


@frozen_dataclass
class McpAnswer:
    """The answer of `/mcp`."""

    text: str
    """Markdown."""
    has_new_tools: bool = False
    """Whether the tools must be rebuilt for the user to get what they asked for."""


@frozen_dataclass
class ProjectServers:
    """The servers that a workspace adds, and problems with their configuration."""

    servers: tuple[ProjectUse, ...] = ()
    problems: tuple[str, ...] = ()
    tool_prefixes: tuple[str, ...] = ()
    """Prefixes of the tool names of these servers and of those already configured."""


@frozen_dataclass
class UnavailableServer:
    """A server whose tools the model does not have."""

    name: str
    reason: str
    """Without secrets."""


McpServerState = Literal[
    "connecting", "connected", "reconnecting", "signed_out", "failed", "closed", "withheld"
]
"""`signed_out`: waiting until the user signs in. `withheld`: of the workspace, not agreed to."""


@frozen_dataclass
class McpServerStatus:
    """A server as the user is shown it, without secrets."""

    name: str
    address: str
    state: McpServerState
    problem: str = ""
    is_signed_in: bool = False
    tools: tuple[tuple[str, str], ...] = ()
    """The names of its tools, with their descriptions."""
    output: tuple[str, ...] = ()


class McpServersPort(Protocol):
    """The MCP servers of one session."""

    def start(self, on_change: Callable[[], None]) -> None:
        """Start connecting in the background; `on_change` is called when commands may differ."""
        ...

    async def wait_ready(self) -> None:
        """Wait briefly for servers that are still connecting, then freeze the tools; only once."""
        ...

    def unavailable(self) -> Sequence[UnavailableServer]:
        """Return the servers whose tools were missing when the tools were last frozen."""
        ...

    async def refresh_tools(self) -> None:
        """Freeze the tools again; failed servers are retried."""
        ...

    def take_notices(self, allowed: Collection[str] | None = None) -> Sequence[str]:
        """Return sentences for the model about changes it does not know yet; each is returned once.

        `allowed` names the only tools that the model may use; None for all.
        """
        ...

    async def read_mentions(
        self, parts: Sequence[UserPart], sink: TurnSink
    ) -> Sequence[PromptPart]:
        """Return what the `@server:uri` mentions in a prompt lead to, if the user permits it."""
        ...

    def commands(self) -> Sequence[PromptCommand]:
        """Return the servers' prompts as commands, as they are now."""
        ...

    async def run_command(self, arguments: str, show_text: ShowText) -> McpAnswer:
        """Run `/mcp`; `show_text` shows texts before the answer."""
        ...

    def statuses(self) -> Sequence[McpServerStatus]:
        """Return all servers, also those that are not started."""
        ...

    def restart(self, name: str) -> bool:
        """Connect a server anew, in the background; return whether there is one of that name."""
        ...

    async def register(self, entries: JsonValue) -> ProjectServers:
        """Register the servers of `entries` and of the workspace's files; none is started."""
        ...

    def start_registered(self, digests: Collection[str]) -> None:
        """Start those registered servers that the user approved, by the digests of their uses."""
        ...

    async def close(self) -> None:
        """Stop all servers."""
        ...


class NoMcpServers:
    """A server port without servers."""

    def start(self, on_change: Callable[[], None]) -> None:
        """Do nothing."""

    async def wait_ready(self) -> None:
        """Return immediately."""

    def unavailable(self) -> Sequence[UnavailableServer]:
        """Return none."""
        return ()

    async def refresh_tools(self) -> None:
        """Do nothing."""

    def take_notices(self, allowed: Collection[str] | None = None) -> Sequence[str]:
        """Return no news."""
        del allowed
        return ()

    async def read_mentions(
        self, parts: Sequence[UserPart], sink: TurnSink
    ) -> Sequence[PromptPart]:
        """Return nothing."""
        del parts, sink
        return ()

    def commands(self) -> Sequence[PromptCommand]:
        """Return no commands."""
        return ()

    async def run_command(self, arguments: str, show_text: ShowText) -> McpAnswer:
        """Report that there are no servers."""
        del arguments, show_text
        return McpAnswer(NO_SERVERS)

    def statuses(self) -> Sequence[McpServerStatus]:
        """Return none."""
        return ()

    def restart(self, name: str) -> bool:
        """Return that there is none."""
        del name
        return False

    async def register(self, entries: JsonValue) -> ProjectServers:
        """Ignore the request: nothing here can start servers."""
        del entries
        return ProjectServers()

    def start_registered(self, digests: Collection[str]) -> None:
        """Do nothing."""
        del digests

    async def close(self) -> None:
        """Do nothing."""
