"""MCP servers of one session: their tools, prompts and notices.

The tool set that the model sees is frozen at the first request and at each rebuild, because a
changed tool list invalidates the prompt cache. Changes in between become notices for the model.
Sessions share nothing but the SDK and the watcher process that ends servers if this one dies.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import anyio
from anyio import to_thread
from pydantic import JsonValue

from acp_server.mcp.features import McpTool
from acp_server.mcp.ports import McpContext, ServerError
from acp_server.mcp.prompt_commands import McpPromptCommand, make_prompt_command
from acp_server.mcp.resources import read_mentions, resource_tool
from acp_server.mcp.server import Server
from acp_server.mcp.server_configs import use_of, workspace_servers
from acp_server.mcp.server_tool import ServerTool
from acp_server.mcp.sign_in_prompt import UserSignInPrompt
from acp_server.mcp.status_text import describe_servers, server_statuses
from acp_server.mcp.tool_names import SEPARATOR, server_name_parts, tool_names
from acp_server.permissions.gate import Gate
from acp_server.permissions.trust import ProjectUse
from acp_server.session.commands.command import PreparedPrompt, PromptCommand, PromptCommandError
from acp_server.session.ports.mcp import (
    McpAnswer,
    McpServerStatus,
    ProjectServers,
    ShowText,
    UnavailableServer,
)
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import as_object
from acp_server.text.lines import to_single_line
from acp_server.tools.tool import Tool
from acp_server.turn.conversation import PromptPart, UserPart
from acp_server.turn.ports import ToolSpec, TurnSink

PROMPT_GONE = "The server no longer offers this prompt. Run `/mcp` to see its state."
SIGN_IN, SIGN_OUT = "sign-in", "sign-out"
USAGE = "`/mcp` shows the servers; `/mcp sign-in NAME` and `/mcp sign-out NAME` sign in and out."
UNKNOWN_SERVER = "Name one of the servers that `/mcp` shows: `/mcp {action} NAME`."
SIGNED_IN = "You are signed in to {name}; the model can use its tools from now on."
SIGNED_OUT = "You are signed out of {name}, in all sessions."
FAILED_ACTION = "{name}: {reason}."
QUIET_WAIT_SECONDS = 3.0
WAITING = "Waiting for these MCP servers, up to {seconds:g} s: {names}."
LATE = (
    "These MCP servers did not connect within {seconds:g} s (`mcp.startup_wait_seconds`); their "
    "tools are left out: {names}."
)
NOT_CONNECTED_YET = "it is not connected yet"
MAX_NAME_CHARACTERS = 100
DISCONNECT_SECONDS = 0.3
"""How long servers may take to disconnect before they are cancelled."""
END_SECONDS = 2.0
"""How long to wait for processes to end after that; ending them has its own limits too."""
MAX_TOTAL_CHARACTERS = 200_000
"""Names, descriptions and schemas of all tools of all servers: about 50,000 tokens."""
MAX_NAMED = 20


@frozen_dataclass
class _AnnouncedTools:
    """A server's tools as last announced to the model."""

    tools: tuple[McpTool, ...] = ()
    is_lost: bool = False


class SessionServers:
    """The servers of one session."""

    def __init__(self, configs: Sequence[ServerConfig], context: McpContext) -> None:
        """Prepare; starts nothing."""
        self._context = context
        self._name_parts = server_name_parts([config.name for config in configs])
        self._servers = [Server(config, context, self._notify) for config in configs]
        self._remaining_wait_seconds = context.limits.first_call_seconds
        self._withheld: tuple[ServerConfig, ...] = ()
        """The workspace's own servers: listed, but not started before `start_registered`."""
        self._uses: dict[str, ProjectUse] = {}
        """What the user decides on, by the names of these servers."""
        self._announced: dict[str, _AnnouncedTools] = {}
        self._frozen_tools: tuple[ServerTool, ...] = ()
        self._has_resource_tool = False
        self._tools: tuple[Tool, ...] = ()
        self._is_frozen = False
        self._unavailable: tuple[UnavailableServer, ...] = ()
        self._server_ended = anyio.Event()
        """Set and replaced whenever a server has ended."""
        self._scopes: set[anyio.CancelScope] = set()
        self._on_change: Callable[[], None] = lambda: None

    def start(self, on_change: Callable[[], None]) -> None:
        """Start connecting all servers; `on_change` is called when a state or feature changes."""
        self._on_change = on_change
        for server in self._servers:
            self._start(server)

    def start_registered(self, digests: Collection[str]) -> None:
        """Start the workspace's own servers that the user approved; see the port.

        The next `wait_ready` freezes the tools again and waits for these servers if time is left.
        """
        approved = [each for each in self._withheld if self._uses[each.name].digest in digests]
        admitted = [Server(config, self._context, self._notify) for config in approved]
        self._withheld = tuple(each for each in self._withheld if each not in approved)
        self._servers += admitted
        self._name_parts = server_name_parts([server.name for server in self._servers])
        self._is_frozen = False
        for server in admitted:
            self._start(server)

    async def register(self, entries: JsonValue) -> ProjectServers:
        """Register the workspace's own servers without starting them; see the port.

        A workspace server with the name of another server is dropped: a repository must not
        replace a server that the user configured.
        """
        files = await to_thread.run_sync(self._context.read_server_files)
        own = as_object(entries)
        configs, problems = workspace_servers(
            {**files.entries, **own} if files.entries else entries
        )
        names = {server.name for server in self._servers}
        self._withheld = tuple(config for config in configs if config.name not in names)
        written = {**files.written, **own}
        self._uses = {
            each.name: use_of(each, written.get(each.name), files.variables.get(each.name, ()))
            for each in self._withheld
        }
        parts = server_name_parts([*names, *(config.name for config in self._withheld)])
        return ProjectServers(
            tuple(self._uses.values()),
            (*files.problems, *problems),
            tuple(sorted(part + SEPARATOR for part in parts.values())),
        )

    async def wait_ready(self) -> None:
        """Wait briefly until each server is connected or has failed; then freeze the tools.

        Does nothing once the tools are frozen.
        """
        if self._is_frozen:
            return
        started_seconds = anyio.current_time()
        with anyio.move_on_after(self._remaining_wait_seconds):
            with anyio.move_on_after(QUIET_WAIT_SECONDS) as quiet_wait:
                await self._until_all_settled()
            if quiet_wait.cancelled_caught:
                self._tell_about_wait()
                await self._until_all_settled()
        late = [each.name for each in self._servers if not each.settled.is_set()]
        if late and self._context.limits.is_unattended:
            seconds = self._context.limits.first_call_seconds
            self._context.notify_user(LATE.format(seconds=seconds, names=_name_list(late)))
        self._remaining_wait_seconds = max(
            self._remaining_wait_seconds - (anyio.current_time() - started_seconds), 0.0
        )
        self._freeze()

    async def _until_all_settled(self) -> None:
        # A copy: `start_registered` can add servers meanwhile.
        for server in tuple(self._servers):
            await server.settled.wait()

    def _tell_about_wait(self) -> None:
        if self._context.limits.is_unattended:
            waiting = [each for each in self._servers if not each.settled.is_set()]
            seconds = max((each.connect_seconds for each in waiting), default=0.0)
            names = _name_list([each.name for each in waiting])
            self._context.notify_user(WAITING.format(seconds=seconds, names=names))

    def unavailable(self) -> Sequence[UnavailableServer]:
        """Return the servers whose tools were missing when the tools were last frozen."""
        return self._unavailable

    def tools(self) -> Sequence[Tool]:
        """Return the frozen tools: none before `wait_ready`."""
        return self._tools

    def tools_for_gate(self, gate: Gate) -> tuple[Tool, ...]:
        """Return the frozen tools behind another permission gate, that of a sub-agent."""
        context = replace(self._context, gate=gate)
        tools = tuple(tool.bind(context) for tool in self._frozen_tools)
        if not self._has_resource_tool:
            return tools
        return (*tools, resource_tool(self._find_with_resources, context))

    async def read_mentions(
        self, parts: Sequence[UserPart], sink: TurnSink
    ) -> Sequence[PromptPart]:
        """Read the resources that a prompt mentions; see the port."""
        servers = [each for each in self._servers if each.features.has_resources]
        return await read_mentions(parts, servers, self._context, sink)

    def _find_with_resources(self, name: str) -> Server | None:
        """Return a server by its name, or by its part of the names of tools."""
        found = [each for each in self._servers if each.features.has_resources]
        if name:
            found = [each for each in found if name in {each.name, self._name_parts[each.name]}]
        return found[0] if len(found) == 1 else None

    async def refresh_tools(self) -> None:
        """Retry failed servers, wait for them briefly and freeze the tools again."""
        for server in self._servers:
            server.retry()
        self._is_frozen = False
        self._remaining_wait_seconds = self._context.limits.first_call_seconds
        await self.wait_ready()

    def take_notices(self, allowed: Collection[str] | None = None) -> tuple[str, ...]:
        """Return notices about changes since the last call, and mark them as announced.

        `allowed` limits the notices to these tool names; None allows all.
        """
        if not self._is_frozen:
            return ()
        return tuple(
            notice for server in self._servers for notice in self._notices_of(server, allowed)
        )

    def prompts(self) -> Sequence[McpPromptCommand]:
        """Return the current prompts of all servers."""
        found = (
            make_prompt_command(server, self._name_parts[server.name], offered, self._context.scan)
            for server in self._servers
            for offered in server.features.prompts
        )
        return tuple({prompt.name: prompt for prompt in found}.values())

    def commands(self) -> Sequence[PromptCommand]:
        """Return the prompts as commands; a prompt is looked up again when its command runs."""
        return [
            PromptCommand(each.name, each.description, partial(self._fetch, each.name), each.hint)
            for each in self.prompts()
        ]

    async def _fetch(self, name: str, arguments: str, sink: TurnSink) -> PreparedPrompt:
        del sink
        prompt = next((each for each in self.prompts() if each.name == name), None)
        try:
            if prompt is not None:
                return PreparedPrompt(await prompt.fetch_text(arguments))
        except ServerError as error:
            raise PromptCommandError(error.reason) from error
        raise PromptCommandError(PROMPT_GONE)

    def describe(self) -> str:
        """Return the text of `/mcp`."""
        return describe_servers(self._servers, self._withheld)

    def statuses(self) -> Sequence[McpServerStatus]:
        """Return all servers; see the port."""
        return server_statuses(self._servers, self._withheld)

    def restart(self, name: str) -> bool:
        """Connect a server anew; see the port."""
        for server in self._servers:
            if to_single_line(server.name, MAX_NAME_CHARACTERS) == name:
                server.restart()
                return True
        return False

    async def run_command(self, arguments: str, show_text: ShowText) -> McpAnswer:
        """Run `/mcp`; see the port."""
        action, _, name = arguments.strip().partition(" ")
        if not action:
            if self._context.limits.is_unattended:  # the user cannot look again in a moment
                await self.wait_ready()
            return McpAnswer(self.describe())
        if action not in {SIGN_IN, SIGN_OUT}:
            return McpAnswer(USAGE)
        server = self._find_remote(name.strip(), is_signed_in=action == SIGN_OUT)
        if server is None:
            await self._until_all_settled()  # only then a server says that it wants a sign-in
            server = self._find_remote(name.strip(), is_signed_in=action == SIGN_OUT)
        if server is None:
            return McpAnswer(UNKNOWN_SERVER.format(action=action))
        shown = to_single_line(server.name, MAX_NAME_CHARACTERS)
        try:
            if action == SIGN_OUT:
                await server.sign_out()
                return McpAnswer(SIGNED_OUT.format(name=shown))
            prompt = UserSignInPrompt(shown, self._context.elicitor, show_text)
            try:
                await server.sign_in(prompt)
            finally:
                await prompt.close()
        except ServerError as error:
            return McpAnswer(FAILED_ACTION.format(name=shown, reason=error.reason))
        return McpAnswer(SIGNED_IN.format(name=shown), has_new_tools=True)

    def _find_remote(self, name: str, *, is_signed_in: bool) -> Server | None:
        """Return the server of a name; without one, the only server that can be meant."""
        if name:
            return next((each for each in self._servers if each.name == name), None)
        states = {"connected"} if is_signed_in else {"signed_out"}
        found = [
            each
            for each in self._servers
            if each.state in states and each.is_signed_in == is_signed_in
        ]
        return found[0] if len(found) == 1 else None

    async def close(self) -> None:
        """Disconnect all servers, then cancel those that have not ended.

        If this is cancelled, the servers end by themselves or are ended by the watcher process.
        """
        for server in self._servers:
            server.shut_down()
        try:
            with anyio.move_on_after(DISCONNECT_SECONDS):
                await self._until_all_ended()
        finally:
            # Also when cancelled above: no server may outlive the session.
            for scope in tuple(self._scopes):
                scope.cancel()
        with anyio.move_on_after(END_SECONDS):
            await self._until_all_ended()

    async def _until_all_ended(self) -> None:
        while self._scopes:
            await self._server_ended.wait()

    def _notify(self) -> None:
        self._on_change()

    def _start(self, server: Server) -> None:
        # Created here and not in the task: `close` must find the scope even if the task has not
        # run yet. A task whose scope is already cancelled then does not connect.
        scope = anyio.CancelScope()
        self._scopes.add(scope)

        async def run() -> None:
            try:
                with scope:
                    await server.run()
            finally:
                self._scopes.discard(scope)
                self._server_ended.set()
                self._server_ended = anyio.Event()

        self._context.tasks.start_soon(run)

    def _freeze(self) -> None:
        """Freeze the current tools of all servers that fit into `MAX_TOTAL_CHARACTERS`."""
        self._is_frozen = True
        self._unavailable = tuple(
            UnavailableServer(server.name, server.problem or NOT_CONNECTED_YET)
            for server in self._servers
            if server.state != "connected"
        )
        self._announced = {server.name: _current_tools(server) for server in self._servers}
        frozen_tools: list[ServerTool] = []
        available = MAX_TOTAL_CHARACTERS
        for server in self._servers:
            offered = server.features.tools
            names, left_out = self._tool_names_of(server, offered), list[str]()
            for each in offered:
                spec = ToolSpec(names[each.name], each.model_description, each.schema)
                available -= len(spec.name) + len(spec.description) + len(str(spec.schema))
                if available >= 0:
                    frozen_tools.append(ServerTool(server, each, spec))
                else:
                    left_out.append(each.title)
            server.left_out = tuple(left_out)
        self._frozen_tools = tuple(frozen_tools)
        self._has_resource_tool = any(each.features.has_resources for each in self._servers)
        self._tools = self.tools_for_gate(self._context.gate)

    def _notices_of(self, server: Server, allowed: Collection[str] | None) -> Iterator[str]:
        announced = self._announced.get(server.name, _AnnouncedTools())
        current = _current_tools(server)
        self._announced[server.name] = current
        names = self._tool_names_of(server, (*announced.tools, *current.tools))
        names = {tool: name for tool, name in names.items() if allowed is None or name in allowed}
        old_tools = {each.name: each for each in announced.tools if each.name in names}
        new_tools = {each.name: each for each in current.tools if each.name in names}
        if current.is_lost and not announced.is_lost and old_tools:
            yield f'The MCP server "{server.name}" is lost: calls of its tools fail for now.'
        elif announced.is_lost and not current.is_lost and names:
            yield f'The MCP server "{server.name}" is there again.'
        changed = [names[each] for each in new_tools if new_tools[each] != old_tools.get(each)]
        removed = [names[each] for each in old_tools if each not in new_tools]
        if changed or removed:
            parts = [f"new or changed: {_name_list(changed)}"] if changed else []
            parts += [f"gone: {_name_list(removed)}"] if removed else []
            yield (
                f'The tools of the MCP server "{server.name}" are others now ({"; ".join(parts)}). '
                "You can use them as they are now once your tools are rebuilt; the user can have "
                "that done with /reload."
            )

    def _tool_names_of(self, server: Server, tools: Sequence[McpTool]) -> dict[str, str]:
        """Return the names that the model sees, by the tools' own names."""
        part, reserved = self._name_parts[server.name], self._context.reserved_names
        return tool_names(part, [each.name for each in tools], reserved)


def _current_tools(server: Server) -> _AnnouncedTools:
    return _AnnouncedTools(server.features.tools, server.state == "failed")


def _name_list(names: Sequence[str]) -> str:
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return ", ".join(names[:MAX_NAMED]) + more
