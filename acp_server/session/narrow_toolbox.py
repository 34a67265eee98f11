"""Fewer tools than there are: what a project asks for, kept by whoever opens calls.

Narrows and never widens. The tools that are left keep their order, so that the list stays the same
from the first call of the model on.
"""

from collections.abc import Collection, Sequence

from acp_server.frozen import frozen
from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, Outcome, Sink, Toolbox, ToolSpec

LEFT_OUT = "the project allows only these tools: {names}"


@frozen
class NarrowToolbox:
    """Some of the tools of a toolbox."""

    whole: Toolbox
    allowed: Collection[str]

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What the model is told: the tools that are left, in their order."""
        return tuple(spec for spec in self.whole.specs if spec.name in self.allowed)

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Open a call; one of a tool that was left out comes to nothing."""
        if name in self.allowed or all(spec.name != name for spec in self.whole.specs):
            return await self.whole.open(call_id, name, sink)
        await sink.emit(CallAppeared(call_id, name))
        return _RefusedCall(LEFT_OUT.format(names=", ".join(spec.name for spec in self.specs)))

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Return what a link of the user's leads to."""
        return await self.whole.attach(link, sink)

    async def close(self) -> None:
        """End all that still runs."""
        await self.whole.close()


@frozen
class _RefusedCall:
    """A call of a tool that is not allowed."""

    reason: str

    async def write(self, fragment: str) -> None:
        """Drop it."""

    async def run(self, call: ToolCall) -> Outcome:
        """Say why nothing is done."""
        del call
        return Outcome(self.reason, is_error=True)

    def cut_short(self, reason: str) -> Outcome:
        """Say why."""
        return Outcome(reason, is_error=True)
