"""A toolbox whose calls pass the user's hooks: before each and after it.

Stands before the tools and their gate, and can only take away: what a hook lets by is asked about
as if there were none.
"""

from collections.abc import Sequence
from dataclasses import replace

from acp_server.frozen import frozen
from acp_server.hooks.running import Hooks
from acp_server.turn.conversation import Link, PromptPart, Text, ToolCall
from acp_server.turn.ports import LiveCall, Outcome, Sink, Toolbox, ToolSpec


@frozen
class HookedToolbox:
    """The tools of a session, with hooks."""

    whole: Toolbox
    hooks: Hooks
    closes_hooks: bool = True
    """Whether the hooks end with these tools; those of a session go on behind a task's."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """What the model is told; hooks change nothing of it."""
        return self.whole.specs

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Open a call; nothing is asked of hooks before it runs."""
        return _HookedCall(await self.whole.open(call_id, name, sink), self.hooks)

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Return what a link of the user's leads to."""
        return await self.whole.attach(link, sink)

    async def close(self) -> None:
        """End all that still runs, hooks too."""
        if self.closes_hooks:
            self.hooks.close()
        await self.whole.close()


@frozen
class _HookedCall:
    """A call between its hooks."""

    whole: LiveCall
    hooks: Hooks

    async def write(self, fragment: str) -> None:
        """Take more of the arguments."""
        await self.whole.write(fragment)

    async def run(self, call: ToolCall) -> Outcome:
        """Do it, unless a hook refuses; what hooks say after it is added to what it led to."""
        refused = await self.hooks.refusal(call)
        if refused is not None:
            return refused
        outcome = await self.whole.run(call)
        remarks = await self.hooks.remarks(call, outcome)
        return _with(outcome, remarks) if remarks else outcome

    def cut_short(self, reason: str) -> Outcome:
        """Return what it led to until now."""
        return self.whole.cut_short(reason)


def _with(outcome: Outcome, remarks: str) -> Outcome:
    text = f"{outcome.text}\n\n{remarks}".lstrip()
    shown = (Text(outcome.text), *outcome.media) if outcome.shown is None else outcome.shown
    return replace(outcome, text=text, shown=(*shown, Text(remarks)))
