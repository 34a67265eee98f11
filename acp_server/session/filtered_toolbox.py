"""A toolbox restricted to the tools that the project's settings allow.

Restricts and never extends. The remaining tools keep their order, so that the tool list is stable
from the first request on.
"""

from collections.abc import Collection, Sequence

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.call_access import READS, CallAccess
from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, Toolbox, ToolOutcome, ToolSpec, TurnSink

TOOL_EXCLUDED = "only these tools are available here: {names}"


@frozen_dataclass
class FilteredToolbox:
    """A subset of the tools of another toolbox."""

    inner: Toolbox
    allowed: Collection[str]

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The allowed tools, in their original order."""
        return tuple(spec for spec in self.inner.specs if spec.name in self.allowed)

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call; a call of an excluded tool is refused."""
        # Checked here too, not only in `specs`: the model may call a tool it was not offered.
        # Unknown names pass, so that the full toolbox reports them as unknown.
        if name in self.allowed or all(spec.name != name for spec in self.inner.specs):
            return await self.inner.open(call_id, name, sink)
        await sink.emit(CallAppeared(call_id, name))
        return _ExcludedToolCall(
            TOOL_EXCLUDED.format(names=", ".join(spec.name for spec in self.specs))
        )

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Resolve a link from the user."""
        return await self.inner.attach(link, sink)

    async def close(self) -> None:
        """Stop everything that still runs."""
        await self.inner.close()


@frozen_dataclass
class _ExcludedToolCall:
    """A call of a tool that is not allowed."""

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
        """Return the reason as a failed outcome."""
        return ToolOutcome(reason, is_error=True)
