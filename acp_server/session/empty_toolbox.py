"""A toolbox without tools: for text requests, and until a session's tools are built."""

from acp_server.turn.call_wrappers import RefusedCall
from acp_server.turn.conversation import Link, PromptPart
from acp_server.turn.ports import LiveCall, ToolSpec, TurnSink


class EmptyToolbox:
    """A toolbox without tools."""

    specs: tuple[ToolSpec, ...] = ()

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Return a call that is refused."""
        del call_id, name, sink
        return RefusedCall("there are no tools here")

    async def attach(self, link: Link, sink: TurnSink) -> tuple[PromptPart, ...]:
        """Return the link unchanged."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing: no tool is running."""
