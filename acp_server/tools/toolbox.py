"""What a session can do: its tools, by name, and the calls that the model makes of them."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import anyio
from pydantic import JsonValue

from acp_server.permissions.gate import Gate
from acp_server.tools.arguments import ArgumentStream
from acp_server.tools.report import Report, bounded
from acp_server.tools.tool import Tool
from acp_server.turn.conversation import Link, PromptPart, ToolCall, arguments_of
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, Outcome, Sink, ToolSpec

ToolSource = Callable[[], Sequence[Tool]]
"""Returns tools that may be others after a rebuild, and are the same in between."""
Attach = Callable[[Link, Sink], Awaitable[Sequence[PromptPart]]]

MOST_NAME_CHARACTERS = 100


class ServerTools(Protocol):
    """Where the tools of a session's servers are found."""

    def tools(self) -> Sequence[Tool]:
        """Return them behind the session's gate; the same until a rebuild."""
        ...

    def tools_behind(self, gate: Gate) -> Sequence[Tool]:
        """Return the same ones behind the gate of a task."""
        ...


class NoServerTools:
    """There are no servers."""

    def tools(self) -> Sequence[Tool]:
        """Return none."""
        return ()

    def tools_behind(self, gate: Gate) -> Sequence[Tool]:
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
        more: ToolSource = tuple,
    ) -> None:
        """Take the tools in the order in which the model is told of them; `more` stand behind."""
        self._gate = gate
        self._attach = attach
        self._tools = {tool.spec.name: tool for tool in tools}
        self._specs = tuple(tool.spec for tool in tools)
        self._close = close
        self._more = more

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What the model is told; changes at rebuilds only."""
        return (*self._specs, *(tool.spec for tool in self._more()))

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Show that a call begins, of a tool that there is or not."""
        tools = self._all()
        tool = tools.get(name)
        if tool is None:
            shown = _shown_name(name)
            await sink.emit(CallAppeared(call_id, shown))
            return _UnknownCall(shown, tuple(tools), Report(call_id, sink))
        await sink.emit(CallAppeared(call_id, name, tool.kind, tool.title))
        return _Call(call_id, tool, Report(call_id, sink), self._gate)

    def _all(self) -> Mapping[str, Tool]:
        """Return all tools; one of the session's own is never another's."""
        return {tool.spec.name: tool for tool in (*self._more(), *self._tools.values())}

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Return what a link leads to; the link itself where nothing can be attached."""
        return (link,) if self._attach is None else await self._attach(link, sink)

    async def close(self) -> None:
        """End what was left running."""
        if self._close is not None:
            await self._close()


class _Call:
    """A call of a tool: its arguments arrive, then it runs."""

    def __init__(self, call_id: str, tool: Tool, report: Report, gate: Gate | None) -> None:
        self._id = call_id
        self._tool = tool.spec.name
        self._use = tool.use(report)
        self._gate = gate
        self._stream = ArgumentStream()

    async def write(self, fragment: str) -> None:
        """Take more of the arguments, and show what they tell."""
        self._stream.write(fragment)
        if self._stream.is_due(anyio.current_time()):
            so_far = self._stream.read()
            if so_far.complete or so_far.growing:
                await self._use.draft(so_far)

    async def run(self, call: ToolCall) -> Outcome:
        """Do it; of what it led to, the user can see the bare facts too."""
        return _with_facts(await self._begin(arguments_of(call)))

    async def _begin(self, arguments: Mapping[str, JsonValue]) -> Outcome:
        """Do it; calls take their places among the gate's questions in the order they begin."""
        if self._gate is None:
            return await self._use.begin(arguments)
        self._gate.join(self._id, self._tool)
        try:
            return await self._use.begin(arguments)
        finally:
            self._gate.leave(self._id)

    def cut_short(self, reason: str) -> Outcome:
        """Return what it led to until now."""
        return _with_facts(self._use.cut_short(reason))


class _UnknownCall:
    """A call of a tool that there is not."""

    def __init__(self, name: str, known: Sequence[str], report: Report) -> None:
        names = f"; there are {', '.join(known)}" if known else ""
        self._outcome = Outcome(f"there is no tool {name!r}{names}", is_error=True)
        self._report = report

    async def write(self, fragment: str) -> None:
        """Do nothing."""

    async def run(self, call: ToolCall) -> Outcome:
        """Say that there is no such tool."""
        await self._report.accept(arguments_of(call))
        return _with_facts(self._outcome)

    def cut_short(self, reason: str) -> Outcome:
        """Say why."""
        return _with_facts(Outcome(reason, is_error=True))


def _shown_name(name: str) -> str:
    """Return what the model has made up for a name, as it is shown."""
    name = " ".join(name.split()) or "(no name)"
    return name if len(name) <= MOST_NAME_CHARACTERS else f"{name[:MOST_NAME_CHARACTERS]}…"


def _with_facts(outcome: Outcome) -> Outcome:
    """Return an outcome whose bare text the user can see too."""
    raw_output = {"text": outcome.text} | dict(outcome.raw_output or {})
    return replace(outcome, raw_output=bounded(raw_output))
