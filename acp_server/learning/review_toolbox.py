"""The tools of a review: named like the session's, so that the request hits the provider's cache.

The model sees the specifications of all tools; only a few of them work, for a limited number of
calls.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.dialects.names import find_tool
from acp_server.turn.call_wrappers import RefusedCall, WrappedCall
from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, Toolbox, ToolOutcome, ToolSpec, TurnSink

TOOL_UNAVAILABLE = "this tool is not to be had now; there are {names}"
TOO_MANY_CALLS = "{most} calls were made, and that is all there may be; end with a sentence"

OutcomeCallback = Callable[[ToolCall, ToolOutcome], Awaitable[None]]
"""Called with the outcome of each call."""


@dataclass(slots=True)
class ReviewToolbox:
    """A toolbox with all of a session's specifications, of which only some tools work."""

    specs: Sequence[ToolSpec]
    """The session's specifications, unchanged."""
    working: Toolbox
    on_outcome: OutcomeCallback
    max_calls: int
    _opened_count: int = field(default=0, init=False)

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call; an unavailable tool or a call above the limit is refused."""
        names = [spec.name for spec in self.working.specs]
        meant = find_tool(name, names).name
        if meant not in names:
            reason = TOOL_UNAVAILABLE.format(names=", ".join(names))
        elif self._opened_count >= self.max_calls:
            reason = TOO_MANY_CALLS.format(most=self.max_calls)
        else:
            self._opened_count += 1
            live = await self.working.open(call_id, name, sink)
            return _ObservedCall(live, meant, self.on_outcome)
        await sink.emit(CallAppeared(call_id, name))
        return RefusedCall(reason)

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Return the link unresolved."""
        del sink
        return (link,)

    async def close(self) -> None:
        """End all running calls."""
        await self.working.close()


@frozen_dataclass
class _ObservedCall(WrappedCall):
    """A call that reports its outcome."""

    name: str
    """Our name of the tool."""
    on_outcome: OutcomeCallback

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Run the call and report its outcome."""
        outcome = await self.inner.run(call)
        await self.on_outcome(replace(call, name=self.name), outcome)
        return outcome
