"""The tools of a pass: named like a session's, so that the request is read from the cache.

The model is told of all tools; only few of them do anything here, and only so many calls are made.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from acp_server.turn.conversation import Link, PromptPart, ToolCall
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import LiveCall, Outcome, Sink, Toolbox, ToolSpec

NOT_NOW = "this tool is not to be had now; there are {names}"
TOO_MANY = "{most} calls were made, and that is all there may be; end with a sentence"

NoteOutcome = Callable[[ToolCall, Outcome], Awaitable[None]]
"""Told what each call led to."""


@dataclass(slots=True)
class PassToolbox:
    """Some tools that work, among all those that the model is told of."""

    specs: Sequence[ToolSpec]
    """What the model is told: the session's, unchanged."""
    working: Toolbox
    note: NoteOutcome
    most_calls: int
    _opened: int = field(default=0, init=False)

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Open a call; one of another tool, or one too many, comes to nothing."""
        names = [spec.name for spec in self.working.specs]
        if name not in names:
            return await _refused(call_id, name, NOT_NOW.format(names=", ".join(names)), sink)
        if self._opened >= self.most_calls:
            return await _refused(call_id, name, TOO_MANY.format(most=self.most_calls), sink)
        self._opened += 1
        return _NotedCall(await self.working.open(call_id, name, sink), self.note)

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Leave a link as it is."""
        del sink
        return (link,)

    async def close(self) -> None:
        """End all that still runs."""
        await self.working.close()


@dataclass(frozen=True, slots=True)
class _NotedCall:
    """A call whose outcome is told."""

    live: LiveCall
    note: NoteOutcome

    async def write(self, fragment: str) -> None:
        """Take more of the arguments."""
        await self.live.write(fragment)

    async def run(self, call: ToolCall) -> Outcome:
        """Do it."""
        outcome = await self.live.run(call)
        await self.note(call, outcome)
        return outcome

    def cut_short(self, reason: str) -> Outcome:
        """Return what it led to until now."""
        return self.live.cut_short(reason)


@dataclass(frozen=True, slots=True)
class _RefusedCall:
    """A call that comes to nothing."""

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


async def _refused(call_id: str, name: str, reason: str, sink: Sink) -> LiveCall:
    await sink.emit(CallAppeared(call_id, name))
    return _RefusedCall(reason)
