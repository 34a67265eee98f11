"""A toolbox restricted to the tools that the project's settings allow.

Restricts and never extends. The remaining tools keep their order, so that the tool list is stable
from the first request on.
"""

from collections.abc import Collection, Sequence

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.call_wrappers import RefusedCall, WrappedToolbox
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, ToolSpec, TurnSink

TOOL_EXCLUDED = "only these tools are available here: {names}"


@frozen_dataclass
class FilteredToolbox(WrappedToolbox):
    """A subset of the tools of another toolbox."""

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
        return RefusedCall(TOOL_EXCLUDED.format(names=", ".join(spec.name for spec in self.specs)))
