"""Toolbox decorator that runs the user's hooks before and after each call.

Hooks run before the permission gate and can only refuse: a call that they let through is still
subject to permissions.
"""

from collections.abc import Sequence
from dataclasses import replace

from acp_server.hooks.hook_runner import HookRunner
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.call_access import CallAccess
from acp_server.turn.conversation import Link, PromptPart, Text, ToolCall
from acp_server.turn.ports import LiveCall, Toolbox, ToolOutcome, ToolSpec, TurnSink


@frozen_dataclass
class HookedToolbox:
    """Tools of a session, with hooks."""

    inner: Toolbox
    hooks: HookRunner
    closes_hooks: bool = True
    """Whether closing also closes the hooks; a sub-agent shares those of its session."""

    @property
    def specs(self) -> Sequence[ToolSpec]:
        """Tool specs for the model; hooks do not change them."""
        return self.inner.specs

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call; hooks run when the call is run."""
        return _HookedCall(await self.inner.open(call_id, name, sink), self.hooks)

    async def attach(self, link: Link, sink: TurnSink) -> Sequence[PromptPart]:
        """Return the content that a resource link refers to."""
        return await self.inner.attach(link, sink)

    async def close(self) -> None:
        """Close the tools, and the hooks if they belong to them."""
        if self.closes_hooks:
            self.hooks.close()
        await self.inner.close()


@frozen_dataclass
class _HookedCall:
    """A call with its hooks."""

    inner: LiveCall
    hooks: HookRunner

    async def write(self, fragment: str) -> None:
        """Pass on a fragment of the arguments."""
        await self.inner.write(fragment)

    def access(self, call: ToolCall) -> CallAccess:
        """Return what the call may do; its hooks run within it."""
        return self.inner.access(call)

    async def run(self, call: ToolCall) -> ToolOutcome:
        """Run the call unless a hook refuses; append the output of the hooks after it."""
        refusal = await self.hooks.run_before(call)
        if refusal is not None:
            return refusal
        outcome = await self.inner.run(call)
        hook_output = await self.hooks.run_after(call, outcome)
        if not hook_output:
            return outcome
        text = f"{outcome.text}\n\n{hook_output}".lstrip()
        shown = (Text(outcome.text), *outcome.media) if outcome.shown is None else outcome.shown
        return replace(outcome, text=text, shown=(*shown, Text(hook_output)))

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the outcome so far."""
        return self.inner.interrupted_outcome(reason)
