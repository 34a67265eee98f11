"""Toolbox of one task: prefixes its call ids, so that they are unique in the session."""

from collections.abc import Sequence
from dataclasses import replace

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.call_wrappers import WrappedCall, WrappedToolbox
from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.ports import LiveCall, ToolOutcome, TurnSink


@frozen_dataclass
class TaskToolbox(WrappedToolbox):
    """Tools of one task."""

    calls: TurnSink
    """Event sink of the tools."""
    prefix: str
    """Prepended to the model's call ids, which are unique only within the task."""

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call under its session id."""
        del sink  # it expects the model's ids
        # Two sub-agents may use the same call id; unprefixed, their permission questions would mix.
        return _TaskCall(
            await self.inner.open(f"{self.prefix}{call_id}", name, self.calls), self.prefix
        )

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Return a resource link unchanged: the prompt of a task has none."""
        del sink
        return (link,)


@frozen_dataclass
class _TaskCall(WrappedCall):
    """A call under its session id."""

    prefix: str

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Run the call."""
        return await self.inner.run(replace(call, id=f"{self.prefix}{call.id}"))
