"""What a session can do: its tools, by name."""

from collections.abc import Sequence

from acp_server.turn.conversation import ToolCall, ToolResult
from acp_server.turn.ports import Sink, ToolSpec


class EmptyToolbox:
    """No tools; a model that calls one all the same is told so."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Nothing."""
        return ()

    async def run(self, call: ToolCall, sink: Sink) -> ToolResult:
        """Say that there is no such tool."""
        del sink
        return ToolResult(call.id, f"there is no tool {call.name!r}", is_error=True)
