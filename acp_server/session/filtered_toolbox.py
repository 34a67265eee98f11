"""A toolbox restricted to the tools that the project's settings allow.

Restricts and never extends. The remaining tools keep their order, so that the tool list is stable
from the first request on.
"""

from collections.abc import Collection, Sequence

from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, Outcome, Sink, Toolbox, ToolSpec

LEFT_OUT = "the project allows only these tools: {names}"


@frozen
class NarrowToolbox:
    """A subset of the tools of another toolbox."""

    whole: Toolbox
    allowed: Collection[str]

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """The allowed tools, in their original order."""
        return tuple(spec for spec in self.whole.specs if spec.name in self.allowed)

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Open a call; a call of an excluded tool is refused."""
        # Checked here too, not only in `specs`: the model may call a tool it was not offered.
        # Unknown names pass, so that the full toolbox reports them as unknown.
        if name in self.allowed or all(spec.name != name for spec in self.whole.specs):
            return await self.whole.open(call_id, name, sink)
        await sink.emit(CallAppeared(call_id, name))
        return _RefusedCall(LEFT_OUT.format(names=", ".join(spec.name for spec in self.specs)))

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Resolve a link from the user."""
        return await self.whole.attach(link, sink)

    async def close(self) -> None:
        """Stop everything that still runs."""
        await self.whole.close()


@frozen
class _RefusedCall:
    """A call of a tool that is not allowed."""

    reason: str

    async def write(self, fragment: str) -> None:
        """Discard the arguments."""

    async def run(self, call: ToolCall) -> Outcome:
        """Return the refusal."""
        del call
        return Outcome(self.reason, is_error=True)

    def cut_short(self, reason: str) -> Outcome:
        """Return the reason as a failed outcome."""
        return Outcome(reason, is_error=True)
