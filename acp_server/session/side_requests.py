"""Model requests outside the conversation, for a summary or a condensed text."""

from typing import NoReturn

from acp_server.turn.conversation import Link, PromptPart, ProviderBlock, Text, ToolCall
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import Event, Usage
from acp_server.turn.loop import Kit, Spent
from acp_server.turn.ports import LiveCall, ModelRequest, Outcome, Sink, ToolSpec
from acp_server.turn.step import Step


class Nobody:
    """A sink that discards all events."""

    async def emit(self, event: Event) -> None:
        """Discard the event."""

    def emit_now(self, event: Event) -> None:
        """Discard the event."""


async def answer_to(request: ModelRequest, kit: Kit, spent: Spent, sink: Sink) -> str:
    """Return the model's answer as text; its usage is counted however the request ends.

    Raises:
        TurnError: the model cannot be asked, failed, or returned no text.
    """
    step = Step(kit.model, _NoCalls(), sink, kit.new_id, None)
    try:
        stop = await step.run(request)
    finally:
        if step.usage != Usage():
            spent.add(step.usage, kit.meter.cost_usd(step.usage))
    parts = step.reply(with_calls=False)
    said = [p.text for p in parts if isinstance(p, Text | ProviderBlock) and p.text]
    # A reply with a tool call is unusable too: no tool was offered, so the text is incomplete.
    if stop == "refusal" or step.calls() or not said:
        reason = "the model returned no text"
        raise ModelFailedError(reason)
    return "\n".join(said)


class _NoCalls:
    """A toolbox without tools: a text request allows none."""

    specs: tuple[ToolSpec, ...] = ()

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Return a call that never runs."""
        del call_id, name, sink
        return _DeadCall()

    async def attach(self, link: Link, sink: Sink) -> tuple[PromptPart, ...]:
        """Return the link unchanged."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing: no tool is running."""


class _DeadCall:
    """A tool call that never runs."""

    async def write(self, fragment: str) -> None:
        """Discard the arguments."""

    async def run(self, call: ToolCall) -> NoReturn:
        """Refuse to run."""
        raise NotImplementedError(call.name)

    def cut_short(self, reason: str) -> Outcome:
        """Return the reason as a failed outcome."""
        return Outcome(reason, is_error=True)
