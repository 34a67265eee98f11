"""Parts of toolboxes that stand before another one: calls and toolboxes that change one thing."""

from collections.abc import Sequence

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.call_access import READS, CallAccess
from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.ports import LiveCall, Toolbox, ToolOutcome, ToolSpec, TurnSink


@frozen_dataclass
class WrappedCall:
    """A call that does what the call within does; a subclass overrides what differs."""

    inner: LiveCall

    async def write(self, fragment: str) -> None:
        """Pass on a piece of the arguments."""
        await self.inner.write(fragment)

    def access(self, call: ToolCall) -> CallAccess:
        """Return what the call may do."""
        return self.inner.access(call)

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Run the call."""
        return await self.inner.run(call)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the outcome so far."""
        return self.inner.interrupted_outcome(reason)


@frozen_dataclass
class WrappedToolbox:
    """A toolbox that does what the toolbox within does; a subclass overrides what differs."""

    inner: Toolbox

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The tools within, unchanged."""
        return self.inner.specs

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call of a tool within."""
        return await self.inner.open(call_id, name, sink)

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Resolve a link from the user."""
        return await self.inner.attach(link, sink)

    async def close(self) -> None:
        """Stop everything that still runs."""
        await self.inner.close()


@frozen_dataclass
class RefusedCall:
    """A call that is not run: its result is the reason."""

    reason: str

    async def write(self, fragment: str) -> None:
        """Discard the arguments."""

    def access(self, call: ToolCall) -> CallAccess:
        """Return that it changes nothing."""
        del call
        return READS

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Return the refusal."""
        del call
        return ToolOutcome(self.reason, is_error=True)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the reason of the interruption as a failure."""
        return ToolOutcome(reason, is_error=True)
