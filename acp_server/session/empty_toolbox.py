"""A toolbox without tools: for text requests, and until a session's tools are built."""

from typing import NoReturn

from acp_server.turn.call_access import READS, CallAccess
from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.ports import LiveCall, ToolOutcome, ToolSpec, TurnSink


class EmptyToolbox:
    """A toolbox without tools."""

    specs: tuple[ToolSpec, ...] = ()

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Return a call that never runs."""
        del call_id, name, sink
        return _UnrunnableCall()

    async def attach(self, link: Link, sink: TurnSink) -> tuple[PromptPart, ...]:
        """Return the link unchanged."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing: no tool is running."""


class _UnrunnableCall:
    """A tool call that never runs."""

    async def write(self, fragment: str) -> None:
        """Discard the arguments."""

    def access(self, call: ToolCall) -> CallAccess:
        """Return that it changes nothing."""
        del call
        return READS

    async def run(self, call: ToolCall) -> NoReturn:
        """Refuse to run."""
        raise NotImplementedError(call.name)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the reason as a failed outcome."""
        return ToolOutcome(reason, is_error=True)
