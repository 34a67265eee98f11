"""What a session can do: its tools, by name, and the calls that the model makes of them."""

from collections.abc import Awaitable, Callable, Sequence

import anyio

from acp_server.tools.arguments import ArgumentStream
from acp_server.tools.report import Report
from acp_server.tools.tool import AnyUse, Tool
from acp_server.turn.conversation import ToolCall, arguments_of
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, Outcome, Sink, ToolSpec


class SessionToolbox:
    """The tools of one session."""

    def __init__(
        self, tools: Sequence[Tool], close: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Take the tools in the order in which the model is told of them."""
        self._tools = {tool.spec.name: tool for tool in tools}
        self._specs = tuple(tool.spec for tool in tools)
        self._close = close

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What the model is told; never changes."""
        return self._specs

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Show that a call begins, of a tool that there is or not."""
        tool = self._tools.get(name)
        if tool is None:
            await sink.emit(CallAppeared(call_id, name))
            return _UnknownCall(name, tuple(self._tools))
        await sink.emit(CallAppeared(call_id, name, tool.kind, tool.title))
        return _Call(tool.use(Report(call_id, sink)))

    async def close(self) -> None:
        """End what was left running."""
        if self._close is not None:
            await self._close()


class _Call:
    """A call of a tool: its arguments arrive, then it runs."""

    def __init__(self, use: AnyUse) -> None:
        self._use = use
        self._stream = ArgumentStream()

    async def write(self, fragment: str) -> None:
        """Take more of the arguments, and show what they tell."""
        self._stream.write(fragment)
        if self._stream.is_due(anyio.current_time()):
            so_far = self._stream.read()
            if so_far.complete or so_far.growing:
                await self._use.draft(so_far)

    async def run(self, call: ToolCall) -> Outcome:
        """Do it."""
        return await self._use.begin(arguments_of(call))

    def cut_short(self, reason: str) -> Outcome:
        """Return what it led to until now."""
        return self._use.cut_short(reason)


class _UnknownCall:
    """A call of a tool that there is not."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        names = f"; there are {', '.join(known)}" if known else ""
        self._outcome = Outcome(f"there is no tool {name!r}{names}", is_error=True)

    async def write(self, fragment: str) -> None:
        """Do nothing."""

    async def run(self, call: ToolCall) -> Outcome:
        """Say that there is no such tool."""
        del call
        return self._outcome

    def cut_short(self, reason: str) -> Outcome:
        """Say why."""
        return Outcome(reason, is_error=True)
