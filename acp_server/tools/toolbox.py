"""The toolbox of a session: its tools by name, and the model's calls of them."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Protocol

import anyio

from acp_server.permissions.gate import Gate
from acp_server.session.ports.mcp import McpServersPort, NoMcpServers
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.arguments import ArgumentBuffer
from acp_server.tools.call_reporter import CallReporter, truncate_raw
from acp_server.tools.data_marks import mark_data
from acp_server.tools.dialects.names import describe_unknown_tool
from acp_server.tools.dialects.reading import ToolSchema
from acp_server.tools.dialects.translation import rename_partial
from acp_server.tools.shortening import one_line
from acp_server.tools.tool import Tool
from acp_server.turn.call_access import CallAccess
from acp_server.turn.call_wrappers import RefusedCall
from acp_server.turn.conversation import Link, PromptPart, ToolCall, parse_arguments
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, ToolOutcome, ToolSpec, TurnSink

ToolSource = Callable[[], Sequence[Tool]]
"""Returns tools. The list changes only when the conversation is rebuilt."""
Attach = Callable[[Link, TurnSink], Awaitable[Sequence[PromptPart]]]

MAX_NAME_CHARACTERS = 100


class ServerTools(Protocol):
    """Source of the tools of a session's MCP servers."""

    def tools(self) -> Sequence[Tool]:
        """Return the tools behind the session's gate; they change only at conversation rebuilds."""
        ...

    def tools_for_gate(self, gate: Gate) -> Sequence[Tool]:
        """Return the same tools behind the gate of a sub-agent's task."""
        ...


class SessionMcpServers(ServerTools, McpServersPort, Protocol):
    """The MCP servers of a session, as its tools and the session itself see them."""


class ConnectServers(Protocol):
    """Creates a session's MCP servers, whose tools pass the session's permission gate."""

    def __call__(
        self, gate: Gate, tracking_file_changes: Callable[[], AbstractAsyncContextManager[None]]
    ) -> SessionMcpServers:
        """Return the servers, not yet started.

        `tracking_file_changes` is entered around each call of a tool that may change files.
        """
        ...


class NoServerTools(NoMcpServers):
    """No MCP servers, so no tools."""

    def tools(self) -> Sequence[Tool]:
        """Return none."""
        return ()

    def tools_for_gate(self, gate: Gate) -> Sequence[Tool]:
        """Return none."""
        del gate
        return ()


class SessionToolbox:
    """The tools of one session."""

    def __init__(
        self,
        tools: Sequence[Tool],
        gate: Gate | None = None,
        attach: Attach | None = None,
        close: Callable[[], Awaitable[None]] | None = None,
        server_tools: ToolSource = tuple,
        delegation: ToolSource = tuple,
    ) -> None:
        """Create it; the model is sent `tools`, `delegation`, `server_tools`, in this order."""
        self._gate = gate
        self._attach = attach
        self._tools = tuple(tools)
        self._close = close
        self._server_tools = server_tools
        self._delegation = delegation

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Specifications of the tools for the model."""
        return tuple(tool.spec for tool in self._all())

    def _all(self) -> Sequence[Tool]:
        return (*self._tools, *self._delegation(), *self._server_tools())

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Show a new tool call to the user, also if the tool does not exist."""
        # Security: a server's tool must not replace a built-in one of the same name, hence this
        # order.
        tools: dict[str, Tool] = {}
        for each in self._all():
            tools.setdefault(each.spec.name, each)
        tool = tools.get(name)
        if tool is None:
            shown = one_line(name, MAX_NAME_CHARACTERS) or "(no name)"
            await sink.emit(CallAppeared(call_id, shown))
            reason = describe_unknown_tool(shown, tuple(tools))
            return _UnknownToolCall(reason, CallReporter(call_id, sink))
        await sink.emit(CallAppeared(call_id, name, tool.kind, tool.title))
        return _LiveToolCall(call_id, tool, CallReporter(call_id, sink), self._gate)

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Return the content that a link leads to, or the link itself if it cannot be attached."""
        return (link,) if self._attach is None else await self._attach(link, sink)

    async def close(self) -> None:
        """End the background commands."""
        if self._close is not None:
            await self._close()


class _LiveToolCall:
    """A call of an existing tool: first its arguments are streamed, then it runs."""

    def __init__(self, call_id: str, tool: Tool, reporter: CallReporter, gate: Gate | None) -> None:
        self._id = call_id
        self._tool = tool.spec.name
        self._schema = ToolSchema(tool.spec.name, tool.spec.full_schema)
        self._use = tool.create_use(reporter)
        self._gate = gate
        self._returns_data = tool.returns_data
        self._arguments = ArgumentBuffer()

    async def write(self, fragment: str) -> None:
        """Take a fragment of the arguments, and show the partial arguments if it is time to."""
        self._arguments.write(fragment)
        if self._arguments.is_due(anyio.current_time()):
            so_far = rename_partial(self._schema, self._arguments.parse())
            if so_far.complete or so_far.incomplete:
                await self._use.draft(so_far)

    def access(self, call: ToolCall) -> CallAccess:
        """Return what the call may do, as its tool judges by the arguments."""
        return self._use.access_of_values(parse_arguments(call))

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Run the tool; the result's text is added to the raw output for the user."""
        arguments = parse_arguments(call)
        # Before the first await: permission is asked in the order in which the calls begin,
        # although they run concurrently.
        if self._gate is not None:
            self._gate.enter_queue(self._id, self._tool)
        try:
            outcome = await self._use.run_call(arguments)
        finally:
            if self._gate is not None:
                self._gate.leave_queue(self._id)
        return _with_raw_output(await mark_data(outcome) if self._returns_data else outcome)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the outcome of the cancelled call."""
        return _with_raw_output(self._use.interrupted_outcome(reason))


@frozen_dataclass
class _UnknownToolCall(RefusedCall):
    """A call of a tool that does not exist."""

    reporter: CallReporter

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Return the error that there is no such tool."""
        await self.reporter.show_arguments(parse_arguments(call))
        return _with_raw_output(ToolOutcome(self.reason, is_error=True))


def _with_raw_output(outcome: ToolOutcome) -> ToolOutcome:
    """Add the outcome's text for the model to the raw output, so that the user can see it too."""
    raw_output = {"text": outcome.text} | dict(outcome.raw_output or {})
    return replace(outcome, raw_output=truncate_raw(raw_output))
