"""MCP servers of one session: their tools, prompts and notices.

The tool set that the model sees is frozen at the first request and at each rebuild, because a
changed tool list invalidates the prompt cache. Changes in between become notices for the model.
Sessions share nothing but the SDK and the watcher process that ends servers if this one dies.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import field
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.mcp.features import OfferedTool
from acp_server.mcp.ports import Changing, Limits, LoadSdk, ServerError
from acp_server.mcp.prompt_commands import ServerPrompt, server_prompt
from acp_server.mcp.results import Suspect, trusts_all
from acp_server.mcp.server import Premises, Server
from acp_server.mcp.server_configs import brought, spelled_out
from acp_server.mcp.server_tool import Counter, ServerTool, server_tool
from acp_server.mcp.status_text import description_of
from acp_server.mcp.tool_names import SEPARATOR, server_names, tool_names
from acp_server.permissions.gate import Gate
from acp_server.session.commands.registry import Errand, ErrandError
from acp_server.session.ports.elicitation import Elicitor, NobodyToAsk
from acp_server.session.ports.mcp import Brought
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.tool import Tool

GONE = "The server no longer offers this prompt. Run `/mcp` to see its state."
LEAVE_SECONDS = 0.3
"""How long servers may take to disconnect before they are cancelled."""
END_SECONDS = 2.0
"""How long to wait for processes to end after that; ending them has its own limits too."""
MOST_TOTAL_CHARACTERS = 200_000
"""Names, descriptions and schemas of all tools of all servers: about 50,000 tokens."""
MOST_NAMED = 20


def _nothing() -> None:
    pass


@frozen
class Around:
    """Dependencies of the servers of a session; the servers run in the task group `tasks`."""

    gate: Gate
    roots: Sequence[Path]
    """The session's workspace roots, absolute; servers are started in the first."""
    tasks: TaskGroup
    load: LoadSdk
    elicitor: Elicitor = field(default_factory=NobodyToAsk)
    suspect: Suspect = trusts_all
    limits: Limits = field(default_factory=Limits)
    changing: Changing = nullcontext
    """Wraps the calls of all tools except those annotated as read-only."""
    taken: Sequence[str] = ()
    """The names of the session's own tools."""
    note_change: Callable[[], None] = _nothing
    """Called when a server's state or features change."""


@frozen
class _Frozen:
    """A server's tools as last announced to the model."""

    tools: tuple[OfferedTool, ...] = ()
    is_lost: bool = False


class SessionServers:
    """The servers of one session."""

    def __init__(
        self,
        configs: Sequence[ServerConfig],
        around: Around,
    ) -> None:
        """Prepare; starts nothing."""
        self._around = around
        self._parts = server_names([config.name for config in configs])
        self._servers = [self._server(config) for config in configs]
        self._patience_seconds = around.limits.first_call_seconds
        self._withheld: tuple[ServerConfig, ...] = ()
        """The workspace's own servers: listed, but not started before `start_registered`."""
        self._told: dict[str, _Frozen] = {}
        self._offered: tuple[ServerTool, ...] = ()
        self._tools: tuple[Tool, ...] = ()
        self._is_frozen = False
        self._has_ended = anyio.Event()
        """Set and replaced whenever a server has ended."""
        self._scopes: set[anyio.CancelScope] = set()

    def begin(self) -> None:
        """Start connecting all servers concurrently in the background."""
        for server in self._servers:
            self._start(server)

    def admit(self) -> None:
        """Start the workspace's own servers, now that the workspace is trusted.

        The next `wait_ready` freezes the tools again and waits for these servers if time is left.
        """
        admitted = [self._server(config) for config in self._withheld]
        self._withheld = ()
        self._servers += admitted
        self._parts = server_names([server.name for server in self._servers])
        self._is_frozen = False
        for server in admitted:
            self._start(server)

    def bring(self, entries: JsonValue) -> Brought:
        """Register the workspace's own servers without starting them.

        A workspace server with the name of another server is dropped: a repository must not
        replace a server that the user configured.
        """
        configs, problems = brought(entries)
        names = {server.name for server in self._servers}
        self._withheld = tuple(config for config in configs if config.name not in names)
        parts = server_names([*names, *(config.name for config in self._withheld)])
        return Brought(
            tuple(spelled_out(config) for config in self._withheld),
            problems,
            tuple(sorted(part + SEPARATOR for part in parts.values())),
        )

    async def ready(self) -> None:
        """Wait briefly until each server is connected or has failed; then freeze the tools.

        Does nothing once the tools are frozen.
        """
        if self._is_frozen:
            return
        since = anyio.current_time()
        with anyio.move_on_after(self._patience_seconds):
            # A copy: `start_registered` can add servers meanwhile.
            for server in tuple(self._servers):
                await server.settled.wait()
        self._patience_seconds = max(self._patience_seconds - (anyio.current_time() - since), 0.0)
        self._freeze()

    def tools(self) -> Sequence[Tool]:
        """Return the frozen tools: none before `wait_ready`."""
        return self._tools

    def tools_behind(self, gate: Gate) -> tuple[Tool, ...]:
        """Return the frozen tools behind another permission gate, that of a sub-agent."""
        counter = Counter(gate, self._around.suspect, self._around.changing)
        return tuple(tool.over(counter) for tool in self._offered)

    async def rebuild(self) -> None:
        """Retry failed servers, wait for them briefly and freeze the tools again."""
        for server in self._servers:
            server.try_again()
        self._is_frozen = False
        self._patience_seconds = self._around.limits.first_call_seconds
        await self.ready()

    def news(self, allowed: Collection[str] | None = None) -> tuple[str, ...]:
        """Return notices about changes since the last call, and mark them as announced.

        `allowed` limits the notices to these tool names; None allows all.
        """
        if not self._is_frozen:
            return ()
        return tuple(news for server in self._servers for news in self._news_of(server, allowed))

    def prompts(self) -> Sequence[ServerPrompt]:
        """Return the current prompts of all servers."""
        found = (
            server_prompt(server, self._parts[server.name], offered, self._around.suspect)
            for server in self._servers
            for offered in server.offers.prompts
        )
        return tuple({prompt.name: prompt for prompt in found}.values())

    def commands(self) -> Sequence[Errand]:
        """Return the prompts as commands; a prompt is looked up again when its command runs."""
        return [
            Errand(
                prompt.name, prompt.description, partial(self._told_by, prompt.name), prompt.hint
            )
            for prompt in self.prompts()
        ]

    async def _told_by(self, name: str, arguments: str) -> str:
        prompt = next((each for each in self.prompts() if each.name == name), None)
        try:
            if prompt is not None:
                return await prompt.text(arguments)
        except ServerError as error:
            raise ErrandError(error.reason) from error
        raise ErrandError(GONE)

    def description(self) -> str:
        """Return the text of `/mcp`."""
        return description_of(self._servers, self._withheld)

    async def close(self) -> None:
        """Disconnect all servers, then cancel those that have not ended.

        If this is cancelled, the servers end by themselves or are ended by the watcher process.
        """
        for server in self._servers:
            server.leave()
        try:
            with anyio.move_on_after(LEAVE_SECONDS):
                await self._until_all_ended()
        finally:
            # Also when cancelled above: no server may outlive the session.
            for scope in tuple(self._scopes):
                scope.cancel()
        with anyio.move_on_after(END_SECONDS):
            await self._until_all_ended()

    async def _until_all_ended(self) -> None:
        while self._scopes:
            await self._has_ended.wait()

    def _server(self, config: ServerConfig) -> Server:
        around = self._around
        premises = Premises(around.roots, around.elicitor, around.limits, around.load)
        return Server(config, premises, around.note_change)

    def _start(self, server: Server) -> None:
        # Created here and not in the task: `close` must find the scope even if the task has not
        # run yet. A task whose scope is already cancelled then does not connect.
        scope = anyio.CancelScope()
        self._scopes.add(scope)
        self._around.tasks.start_soon(self._run, server, scope)

    async def _run(self, server: Server, scope: anyio.CancelScope) -> None:
        try:
            with scope:
                await server.run()
        finally:
            self._scopes.discard(scope)
            self._has_ended.set()
            self._has_ended = anyio.Event()

    def _freeze(self) -> None:
        self._is_frozen = True
        self._told = {server.name: _now(server) for server in self._servers}
        self._offered = tuple(self._bounded())
        self._tools = self.tools_behind(self._around.gate)

    def _bounded(self) -> Iterator[ServerTool]:
        """Yield the tools of all servers that fit into `MAX_TOTAL_CHARACTERS`."""
        room = MOST_TOTAL_CHARACTERS
        for server in self._servers:
            offered = server.offers.tools
            names = self._names_of(server, offered)
            for each in offered:
                tool = server_tool(server, each, names[each.name])
                room -= _size(tool)
                if room >= 0:
                    yield tool

    def _news_of(self, server: Server, allowed: Collection[str] | None) -> Iterator[str]:
        told, now = self._told.get(server.name, _Frozen()), _now(server)
        self._told[server.name] = now
        names = self._names_of(server, (*told.tools, *now.tools))
        names = {tool: name for tool, name in names.items() if allowed is None or name in allowed}
        had = {each.name: each for each in told.tools if each.name in names}
        has = {each.name: each for each in now.tools if each.name in names}
        if now.is_lost and not told.is_lost and had:
            yield f'The MCP server "{server.name}" is lost: calls of its tools fail for now.'
        elif told.is_lost and not now.is_lost and names:
            yield f'The MCP server "{server.name}" is there again.'
        new = [names[each] for each in has if has[each] != had.get(each)]
        gone = [names[each] for each in had if each not in has]
        if new or gone:
            yield _changes(server.name, new, gone)

    def _names_of(self, server: Server, tools: Sequence[OfferedTool]) -> dict[str, str]:
        """Return the names that the model sees, by the tools' own names."""
        part, taken = self._parts[server.name], self._around.taken
        return tool_names(part, [each.name for each in tools], taken)


def _changes(server: str, new: Sequence[str], gone: Sequence[str]) -> str:
    parts = [f"new or changed: {_listed(new)}"] if new else []
    parts += [f"gone: {_listed(gone)}"] if gone else []
    return (
        f'The tools of the MCP server "{server}" are others now ({"; ".join(parts)}). '
        "You can use them as they are now once your tools are rebuilt; the user can have that "
        "done with /reload."
    )


def _now(server: Server) -> _Frozen:
    return _Frozen(server.offers.tools, server.state == "failed")


def _size(tool: ServerTool) -> int:
    return len(tool.spec.name) + len(tool.spec.description) + len(str(tool.spec.schema))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
