"""The MCP servers of one session, and what they add to it.

What the model is told of them is frozen when its first request is made, and again at each rebuild;
what changes in between is news, and told in words. Nothing here is shared between sessions but the
SDK's code and the process that ends servers when we die.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import field
from functools import partial
from pathlib import Path

import anyio
from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.mcp.configuration import brought, spelled_out
from acp_server.mcp.description import description_of
from acp_server.mcp.names import SEPARATOR, server_names, tool_names
from acp_server.mcp.offers import OfferedTool
from acp_server.mcp.ports import Changing, Limits, LoadSdk, ServerError
from acp_server.mcp.prompts import ServerPrompt, server_prompt
from acp_server.mcp.results import Suspect, trusts_all
from acp_server.mcp.server import Premises, Server
from acp_server.mcp.tool import Counter, ServerTool, server_tool
from acp_server.permissions.gate import Gate
from acp_server.session.commands import Errand, ErrandError
from acp_server.session.elicitation import Elicitor, NobodyToAsk
from acp_server.session.server_configs import ServerConfig
from acp_server.session.servers import Brought
from acp_server.tools.tool import Tool

GONE = "The server does not offer this prompt any more; `/mcp` shows what is there."
LEAVE_SECONDS = 0.3
"""How long servers may take to be left politely, before they are cut off."""
END_SECONDS = 2.0
"""The most that ending processes takes after that; it is bounded itself."""
MOST_TOTAL_CHARACTERS = 200_000
"""Of names, descriptions and schemas of all tools in all servers: about 50,000 tokens."""
MOST_NAMED = 20


def _nothing() -> None:
    pass


@frozen
class Around:
    """What the servers of a session work with; in `tasks` they live."""

    gate: Gate
    roots: Sequence[Path]
    """The session's folders, absolute; the first is where servers are started."""
    tasks: TaskGroup
    load: LoadSdk
    elicitor: Elicitor = field(default_factory=NobodyToAsk)
    suspect: Suspect = trusts_all
    limits: Limits = field(default_factory=Limits)
    changing: Changing = nullcontext
    """Stands around the calls of all tools but those that claim to change nothing."""
    taken: Sequence[str] = ()
    """The names of the session's own tools."""
    note_change: Callable[[], None] = _nothing
    """Called when a server has another state, or offers something else: prompts, for one."""


@frozen
class _Frozen:
    """A server's tools as the model was told of them."""

    tools: tuple[OfferedTool, ...] = ()
    is_lost: bool = False


class SessionServers:
    """The servers of one session."""

    def __init__(
        self,
        configs: Sequence[ServerConfig],
        around: Around,
    ) -> None:
        """Prepare; nothing is started yet."""
        self._around = around
        self._parts = server_names([config.name for config in configs])
        self._servers = [self._server(config) for config in configs]
        self._patience_seconds = around.limits.first_call_seconds
        self._withheld: tuple[ServerConfig, ...] = ()
        """What the workspace brings: listed, and not used before `admit`."""
        self._told: dict[str, _Frozen] = {}
        self._offered: tuple[ServerTool, ...] = ()
        self._tools: tuple[Tool, ...] = ()
        self._is_frozen = False
        self._has_ended = anyio.Event()
        """Set, and made anew, when one of them has ended."""
        self._scopes: set[anyio.CancelScope] = set()

    def begin(self) -> None:
        """Have all servers connected, in the background and side by side."""
        for server in self._servers:
            self._start(server)

    def admit(self) -> None:
        """Use the servers that were withheld, for the workspace is trusted by now.

        The tools are fixed anew at the next `ready`, which waits for these too if there is time.
        """
        admitted = [self._server(config) for config in self._withheld]
        self._withheld = ()
        self._servers += admitted
        self._parts = server_names([server.name for server in self._servers])
        self._is_frozen = False
        for server in admitted:
            self._start(server)

    def bring(self, entries: JsonValue) -> Brought:
        """Take down the servers that the workspace brings; a name that is taken stays so."""
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
        """Wait until each server is connected or has failed, but not long; then fix the tools.

        Only the first call waits.
        """
        if self._is_frozen:
            return
        since = anyio.current_time()
        with anyio.move_on_after(self._patience_seconds):
            for server in tuple(self._servers):
                await server.settled.wait()
        self._patience_seconds = max(self._patience_seconds - (anyio.current_time() - since), 0.0)
        self._freeze()

    def tools(self) -> Sequence[Tool]:
        """Return the tools as they were last fixed: none before `ready`."""
        return self._tools

    def tools_behind(self, gate: Gate) -> tuple[Tool, ...]:
        """Return the same tools behind another gate: that of one of the session's tasks."""
        counter = Counter(gate, self._around.suspect, self._around.changing)
        return tuple(tool.over(counter) for tool in self._offered)

    async def rebuild(self) -> None:
        """Fix the tools anew; what was given up is tried again, and waited for a little."""
        for server in self._servers:
            server.try_again()
        self._is_frozen = False
        self._patience_seconds = self._around.limits.first_call_seconds
        await self.ready()

    def news(self, allowed: Collection[str] | None = None) -> tuple[str, ...]:
        """Return what the model does not know yet, in sentences, and take it for told."""
        if not self._is_frozen:
            return ()
        return tuple(news for server in self._servers for news in self._news_of(server, allowed))

    def prompts(self) -> Sequence[ServerPrompt]:
        """Return the prompts of all servers, as they are now."""
        found = (
            server_prompt(server, self._parts[server.name], offered, self._around.suspect)
            for server in self._servers
            for offered in server.offers.prompts
        )
        return tuple({prompt.name: prompt for prompt in found}.values())

    def commands(self) -> Sequence[Errand]:
        """Return the prompts as commands; each looks its prompt up when it is called."""
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
        """Return what `/mcp` shows."""
        return description_of(self._servers, self._withheld)

    async def close(self) -> None:
        """End all servers: politely, then by force.

        Cancelling cuts both short: each ends by itself then, or by whoever watches over processes.
        """
        for server in self._servers:
            server.leave()
        try:
            with anyio.move_on_after(LEAVE_SECONDS):
                await self._until_all_ended()
        finally:
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
        scope = anyio.CancelScope()  # here: one that is cancelled before it runs does not begin
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
        """Yield the tools of all servers, as many as there is room for."""
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
        """Return the names under which the model knows tools, by their own."""
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
