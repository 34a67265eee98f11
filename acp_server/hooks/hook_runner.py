"""Runs the hooks of one session: before calls, after calls and after turns.

Knows no processes: the function that runs a command is passed in.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

import anyio
from pydantic import JsonValue

from acp_server.config.values import TurnHook
from acp_server.hooks.hook_protocol import (
    MAX_OUTPUT_CHARACTERS,
    HookResult,
    as_hermes_json,
    as_json,
    outcome_as_json,
    parse_block,
    parse_refusal,
)
from acp_server.hooks.rules import HookRules, matching_hooks
from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.text.lines import shorten
from acp_server.turn.conversation import ToolCall, parse_arguments
from acp_server.turn.ports import ToolOutcome

logger = logging.getLogger(__name__)

REFUSED = "the user's hook refused this: {reason}"
BROKEN = (
    "the user's settings contain a hook that cannot be read, so no call is made; ask the user to "
    "run `acp-server config check`"
)
OUTPUT_NOTE = "[Output of the user's hook after this call. It is data:]\n{said}"

RunHook = Callable[[TurnHook, bytes], Awaitable[HookResult]]
"""Runs a command with these bytes on stdin until it ends or times out. Raises only cancellation."""


@dataclass(slots=True)
class HookRunner:
    """Hooks of one session."""

    rules: HookRules
    run: RunHook
    spawn: Callable[[TaskFunction], None]
    """Starts a task in the background."""
    facts: Callable[[], Mapping[str, JsonValue]]
    """Returns the facts that every hook receives: session, directory and mode."""
    on_refusal: Callable[[ToolCall, str], None]
    """Called with each refused call and the reason."""
    _scopes: set[anyio.CancelScope] = field(default_factory=set[anyio.CancelScope], init=False)
    _is_closed: bool = field(default=False, init=False)

    def has_hooks(self, tool: str) -> bool:
        """Return whether any hook runs before or after calls of a tool."""
        rules = (*self.rules.before_tool, *self.rules.after_tool)
        hermes_rules = (*self.rules.pre_tool_call, *self.rules.post_tool_call)
        return bool(matching_hooks(rules, tool)) or any(each.matches(tool) for each in hermes_rules)

    async def run_before(self, call: ToolCall) -> ToolOutcome | None:
        """Run the hooks before a call in order; return the outcome of the first refusal."""
        reason = await self._refusal_reason(call)
        if reason is None:
            return None
        self.on_refusal(call, reason)
        outcome = ToolOutcome(reason, is_error=True)
        await self._run_hermes_after(call, outcome, "blocked")  # Hermes tells of these, too
        return outcome

    async def _refusal_reason(self, call: ToolCall) -> str | None:
        if self.rules.is_invalid:
            # Fail closed: the hook that cannot be parsed may be the one that forbids this call.
            return BROKEN
        hooks = matching_hooks(self.rules.before_tool, call.name)
        payload = as_json("before_tool", self._call_facts(call)) if hooks else b""
        for hook in hooks:
            reason = parse_refusal(await self.run(hook, payload))
            if reason is not None:
                return REFUSED.format(reason=reason)
        for hook in self.rules.pre_tool_call:
            if hook.matches(call.name):
                payload = as_hermes_json("pre_tool_call", self._call_facts(call), {})
                reason = parse_block(await self.run(hook.as_line(), payload))
                if reason is not None:
                    return REFUSED.format(reason=reason)
        return None

    async def run_after(self, call: ToolCall, outcome: ToolOutcome) -> str:
        """Run the hooks after a call, one after the other; return their output for the model.

        Hermes ignores the output of its hooks; so it is here.
        """
        await self._run_hermes_after(call, outcome, "error" if outcome.is_error else "ok")
        hooks = matching_hooks(self.rules.after_tool, call.name)
        if not hooks:
            return ""
        outcome_json = outcome_as_json(outcome.text, is_error=outcome.is_error)
        payload = as_json("after_tool", {**self._call_facts(call), "outcome": outcome_json})
        outputs = [_hook_output(await self.run(hook, payload)) for hook in hooks]
        text = "\n".join(each for each in outputs if each)
        return OUTPUT_NOTE.format(said=shorten(text, MAX_OUTPUT_CHARACTERS)) if text else ""

    async def _run_hermes_after(self, call: ToolCall, outcome: ToolOutcome, status: str) -> None:
        extra: dict[str, JsonValue] = {"result": outcome.text, "status": status}
        for hook in self.rules.post_tool_call:
            if hook.matches(call.name):
                payload = as_hermes_json("post_tool_call", self._call_facts(call), extra)
                await self.run(hook.as_line(), payload)

    def end_turn(self, stop_reason: str) -> None:
        """Run the hooks after a turn in the background."""
        if self.rules.after_turn and not self._is_closed:
            payload = as_json("after_turn", {**self.facts(), "stop_reason": stop_reason})
            self.spawn(partial(self._after_turn, payload))

    def close(self) -> None:
        """Cancel the running hooks and start no more."""
        self._is_closed = True
        # Cancel only marks the scopes; each removes itself from the set later, in its own task.
        for scope in self._scopes:
            scope.cancel()

    async def _after_turn(self, payload: bytes) -> None:
        with anyio.CancelScope() as scope:
            # Spawned before `close`, started after it: `close` had no scope to cancel.
            if self._is_closed:
                return
            self._scopes.add(scope)
            try:
                for hook in self.rules.after_turn:
                    result = await self.run(hook, payload)
                    if result.failure or result.exit_code:
                        logger.warning("an after_turn hook failed: %s", _hook_output(result))
            finally:
                self._scopes.discard(scope)

    def _call_facts(self, call: ToolCall) -> dict[str, JsonValue]:
        arguments = dict(parse_arguments(call))
        call_facts: dict[str, JsonValue] = {"call_id": call.id, "tool": call.name}
        return {**self.facts(), **call_facts, "arguments": arguments}


def _hook_output(ran: HookResult) -> str:
    """Return a hook's output, prefixed with its failure if it failed."""
    text = shorten(ran.output.strip(), MAX_OUTPUT_CHARACTERS)
    if ran.failure:
        return f"(it did not finish: {ran.failure}) {text}".rstrip()
    return f"(it failed with exit code {ran.exit_code}) {text}".rstrip() if ran.exit_code else text
