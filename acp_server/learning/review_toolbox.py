"""The tools of a review: named like the session's, so that the request hits the provider's cache.

The model sees the specifications of all tools; only a few of them work, for a limited number of
calls.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, Outcome, Sink, Toolbox, ToolSpec

NOT_NOW = "this tool is not to be had now; there are {names}"
TOO_MANY = "{most} calls were made, and that is all there may be; end with a sentence"

NoteOutcome = Callable[[ToolCall, Outcome], Awaitable[None]]
"""Called with the outcome of each call."""


@dataclass(slots=True)
class PassToolbox:
    """A toolbox with all of a session's specifications, of which only some tools work."""

    specs: Sequence[ToolSpec]
    """The session's specifications, unchanged."""
    working: Toolbox
    note: NoteOutcome
    most_calls: int
    _opened: int = field(default=0, init=False)

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Open a call; an unavailable tool or a call above the limit is refused."""
        names = [spec.name for spec in self.working.specs]
        if name not in names:
            return await _refused(call_id, name, NOT_NOW.format(names=", ".join(names)), sink)
        if self._opened >= self.most_calls:
            return await _refused(call_id, name, TOO_MANY.format(most=self.most_calls), sink)
        self._opened += 1
        return _NotedCall(await self.working.open(call_id, name, sink), self.note)

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Return the link unresolved."""
        del sink
        return (link,)

    async def close(self) -> None:
        """End all running calls."""
        await self.working.close()


@dataclass(frozen=True, slots=True)
class _NotedCall:
    """A call that reports its outcome."""

    live: LiveCall
    note: NoteOutcome

    async def write(self, fragment: str) -> None:
        """Take more of the arguments."""
        await self.live.write(fragment)

    async def run(self, call: ToolCall) -> Outcome:
        """Run the call and report its outcome."""
        outcome = await self.live.run(call)
        await self.note(call, outcome)
        return outcome

    def cut_short(self, reason: str) -> Outcome:
        """Return its outcome so far."""
        return self.live.cut_short(reason)


@dataclass(frozen=True, slots=True)
class _RefusedCall:
    """A call that is refused."""

    reason: str

    async def write(self, fragment: str) -> None:
        """Drop the arguments."""

    async def run(self, call: ToolCall) -> Outcome:
        """Return the reason as an error."""
        del call
        return Outcome(self.reason, is_error=True)

    def cut_short(self, reason: str) -> Outcome:
        """Return the reason as an error."""
        return Outcome(reason, is_error=True)


async def _refused(call_id: str, name: str, reason: str, sink: Sink) -> LiveCall:
    await sink.emit(CallAppeared(call_id, name))
    return _RefusedCall(reason)
