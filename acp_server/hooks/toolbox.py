"""Toolbox decorator that runs the user's hooks before and after each call.

Hooks run before the permission gate and can only refuse: a call that they let through is still
subject to permissions.
"""

from collections.abc import Sequence
from dataclasses import replace

from acp_server.hooks.hook_runner import Hooks
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.conversation import Link, PromptPart, Text, ToolCall
from acp_server.turn.ports import LiveCall, Outcome, Sink, Toolbox, ToolSpec


@frozen
class HookedToolbox:
    """Tools of a session, with hooks."""

    whole: Toolbox
    hooks: Hooks
    closes_hooks: bool = True
    """Whether closing also closes the hooks; a sub-agent shares those of its session."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Tool specs for the model; hooks do not change them."""
        return self.whole.specs

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Open a call; hooks run when the call is run."""
        return _HookedCall(await self.whole.open(call_id, name, sink), self.hooks)

    async def attach(self, link: Link, sink: Sink) -> Sequence[PromptPart]:
        """Return the content that a resource link refers to."""
        return await self.whole.attach(link, sink)

    async def close(self) -> None:
        """Close the tools, and the hooks if they belong to them."""
        if self.closes_hooks:
            self.hooks.close()
        await self.whole.close()


@frozen
class _HookedCall:
    """A call with its hooks."""

    whole: LiveCall
    hooks: Hooks

    async def write(self, fragment: str) -> None:
        """Pass on a fragment of the arguments."""
        await self.whole.write(fragment)

    async def run(self, call: ToolCall) -> Outcome:
        """Run the call unless a hook refuses; append the output of the hooks after it."""
        refused = await self.hooks.refusal(call)
        if refused is not None:
            return refused
        outcome = await self.whole.run(call)
        remarks = await self.hooks.remarks(call, outcome)
        return _with(outcome, remarks) if remarks else outcome

    def cut_short(self, reason: str) -> Outcome:
        """Return the outcome so far."""
        return self.whole.cut_short(reason)


def _with(outcome: Outcome, remarks: str) -> Outcome:
    text = f"{outcome.text}\n\n{remarks}".lstrip()
    shown = (Text(outcome.text), *outcome.media) if outcome.shown is None else outcome.shown
    return replace(outcome, text=text, shown=(*shown, Text(remarks)))
