"""Toolbox decorator that runs the user's hooks before and after each call.

Hooks run before the permission gate and can only refuse: a call that they let through is still
subject to permissions.
"""

from dataclasses import replace

from acp_server.hooks.hook_runner import HookRunner
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.call_access import CHANGES, CallAccess
from acp_server.turn.call_wrappers import WrappedCall, WrappedToolbox
from acp_server.turn.conversation import Text, ToolCall
from acp_server.turn.ports import LiveCall, ToolOutcome, TurnSink


@frozen_dataclass
class HookedToolbox(WrappedToolbox):
    """Tools of a session, with hooks."""

    hooks: HookRunner
    closes_hooks: bool = True
    """Whether closing also closes the hooks; a sub-agent shares those of its session."""

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Open a call; hooks run when the call is run."""
        return _HookedCall(await self.inner.open(call_id, name, sink), self.hooks)

    async def close(self) -> None:
        """Close the tools, and the hooks if they belong to them."""
        if self.closes_hooks:
            self.hooks.close()
        await self.inner.close()


@frozen_dataclass
class _HookedCall(WrappedCall):
    """A call with its hooks."""

    hooks: HookRunner

    def access(self, call: ToolCall) -> CallAccess:
        """Return what the call may do together with its hooks."""
        access = self.inner.access(call)
        # A hook that formats or commits after each edit may touch what another edit touches.
        if access.kind == "edits" and self.hooks.has_hooks(call.name):
            return CHANGES
        return access

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
