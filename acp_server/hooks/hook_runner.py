"""Runs the hooks of one session: before calls, after calls and after turns.

Knows no processes: the function that runs a command is passed in.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import anyio
from pydantic import JsonValue

from acp_server.hooks.hook_protocol import (
    MOST_SAID_CHARACTERS,
    Ran,
    as_json,
    outcome_as_json,
    refusal_in,
)
from acp_server.hooks.rules import Hook, HookRules, matching
from acp_server.session.prompting.file_watch import Task
from acp_server.turn.conversation import ToolCall, arguments_of
from acp_server.turn.ports import Outcome

logger = logging.getLogger(__name__)

REFUSED = "a hook of the user's refused this: {reason}"
BROKEN = (
    "the settings hold hooks before tools that cannot be understood, so no call is made; the user "
    "can see why with `acp-server config check`"
)
SAID = "[A hook of the user's says after this call, as data:]\n{said}"

RunHook = Callable[[Hook, bytes], Awaitable[Ran]]
"""Runs a command with these bytes on stdin until it ends or times out. Raises only cancellation."""
Spawn = Callable[[Task], None]
"""Starts a task in the background."""
OnRefusal = Callable[[ToolCall, str], None]


@dataclass(slots=True)
class Hooks:
    """Hooks of one session."""

    rules: HookRules
    run: RunHook
    spawn: Spawn
    facts: Callable[[], Mapping[str, JsonValue]]
    """Returns the facts that every hook receives: session, directory and mode."""
    on_refusal: OnRefusal
    """Called with each refused call and the reason."""
    _scopes: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope], init=False)
    _is_closed: bool = field(default=False, init=False)

    async def refusal(self, call: ToolCall) -> Outcome | None:
        """Run the hooks before a call in order; return the outcome of the first refusal."""
        said = await self._no_to(call)
        if said is None:
            return None
        self.on_refusal(call, said)
        return Outcome(said, is_error=True)

    async def _no_to(self, call: ToolCall) -> str | None:
        if self.rules.is_broken:
            # Fail closed: the hook that cannot be parsed may be the one that forbids this call.
            return BROKEN
        hooks = matching(self.rules.before_tool, call.name)
        told = as_json("before_tool", self._about(call)) if hooks else b""
        for hook in hooks:
            reason = refusal_in(await self.run(hook, told))
            if reason is not None:
                return REFUSED.format(reason=reason)
        return None

    async def remarks(self, call: ToolCall, outcome: Outcome) -> str:
        """Run the hooks after a call, one after the other; return their output for the model."""
        hooks = matching(self.rules.after_tool, call.name)
        if not hooks:
            return ""
        ended = outcome_as_json(outcome.text, is_error=outcome.is_error)
        told = as_json("after_tool", {**self._about(call), "outcome": ended})
        said = [_remark(await self.run(hook, told)) for hook in hooks]
        text = "\n".join(each for each in said if each)
        return SAID.format(said=_bounded(text)) if text else ""

    def end_turn(self, stop_reason: str) -> None:
        """Run the hooks after a turn in the background."""
        if self.rules.after_turn and not self._is_closed:
            told = as_json("after_turn", {**self.facts(), "stop_reason": stop_reason})
            self.spawn(partial(self._after_turn, told))

    def close(self) -> None:
        """Cancel the running hooks and start no more."""
        self._is_closed = True
        # Cancel only marks the scopes; each removes itself from the set later, in its own task.
        for scope in self._scopes:
            scope.cancel()

    async def _after_turn(self, told: bytes) -> None:
        with anyio.CancelScope() as scope:
            # Spawned before `close`, started after it: `close` had no scope to cancel.
            if self._is_closed:
                return
            self._scopes.add(scope)
            try:
                for hook in self.rules.after_turn:
                    ran = await self.run(hook, told)
                    if ran.failure or ran.code:
                        logger.warning("an after_turn hook failed: %s", _remark(ran))
            finally:
                self._scopes.discard(scope)

    def _about(self, call: ToolCall) -> dict[str, JsonValue]:
        arguments = dict(arguments_of(call))
        named: dict[str, JsonValue] = {"call_id": call.id, "tool": call.name}
        return {**self.facts(), **named, "arguments": arguments}


def _remark(ran: Ran) -> str:
    """Return a hook's output, prefixed with its failure if it failed."""
    said = _bounded(ran.said.strip())
    if ran.failure:
        return f"(it did not come to its end: {ran.failure}) {said}".rstrip()
    return f"(it failed with exit code {ran.code}) {said}".rstrip() if ran.code else said


def _bounded(text: str) -> str:
    return text if len(text) <= MOST_SAID_CHARACTERS else f"{text[:MOST_SAID_CHARACTERS]}…"
