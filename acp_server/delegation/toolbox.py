"""The tools of one task: a call of one of them is a call of the session's."""

from collections.abc import Sequence
from dataclasses import replace

from acp_server.frozen import frozen
from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.ports import LiveCall, Outcome, Sink, Toolbox, ToolSpec


@frozen
class TaskToolbox:
    """The tools of one task."""

    tools: Toolbox
    calls: Sink
    """Where the tools tell what they do."""
    prefix: str
    """Stands before the model's id of a call, and makes it one that the session has only once."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What the sub-agent is told."""
        return self.tools.specs

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Open a call of the session's."""
        del sink  # that one has the model's ids
        return _TaskCall(
            await self.tools.open(f"{self.prefix}{call_id}", name, self.calls), self.prefix
        )

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Leave a link as it is: a task has none."""
        del sink
        return (link,)

    async def close(self) -> None:
        """End all that still runs."""
        await self.tools.close()


@frozen
class _TaskCall:
    """A call under its id in the session."""

    live: LiveCall
    prefix: str

    async def write(self, fragment: str) -> None:
        """Take more of the arguments."""
        await self.live.write(fragment)

    async def run(self, call: ToolCall) -> Outcome:
        """Do it."""
        return await self.live.run(replace(call, id=f"{self.prefix}{call.id}"))

    def cut_short(self, reason: str) -> Outcome:
        """Return what it led to until now."""
        return self.live.cut_short(reason)
