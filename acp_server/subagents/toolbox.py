"""Toolbox of one task: prefixes its call ids, so that they are unique in the session."""

from collections.abc import Sequence
from dataclasses import replace

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.call_access import CallAccess
from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.ports import LiveCall, Toolbox, ToolOutcome, ToolSpec, TurnSink


@frozen_dataclass
class TaskToolbox:
    """Tools of one task."""

    tools: Toolbox
    calls: TurnSink
    """Event sink of the tools."""
    prefix: str
    """Prepended to the model's call ids, which are unique only within the task."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Tool specs for the sub-agent."""
        return self.tools.specs

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call under its session id."""
        del sink  # it expects the model's ids
        # Two sub-agents may use the same call id; unprefixed, their permission questions would mix.
        return _TaskCall(
            await self.tools.open(f"{self.prefix}{call_id}", name, self.calls), self.prefix
        )

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Return a resource link unchanged: the prompt of a task has none."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Close the tools."""
        await self.tools.close()


@frozen_dataclass
class _TaskCall:
    """A call under its session id."""

    live: LiveCall
    prefix: str

    async def write(self, fragment: str) -> None:
        """Pass on a fragment of the arguments."""
        await self.live.write(fragment)

    def access(self, call: ToolCall) -> CallAccess:
        """Return what the call may do."""
        return self.live.access(call)

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Run the call."""
        return await self.live.run(replace(call, id=f"{self.prefix}{call.id}"))

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the outcome so far."""
        return self.live.interrupted_outcome(reason)
