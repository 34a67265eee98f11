"""Model requests outside the conversation, for a summary or a condensed text."""

from typing import NoReturn

from acp_server.turn.conversation import Link, PromptPart, ProviderBlock, Text, ToolCall
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import Event, Usage
from acp_server.turn.loop import TurnContext, UsageTotals
from acp_server.turn.ports import LiveCall, ModelRequest, ToolOutcome, ToolSpec, TurnSink
from acp_server.turn.step import ModelStep


class NullSink:
    """A sink that discards all events."""

    async def emit(self, event: Event) -> None:
        """Discard the event."""

    def emit_now(self, event: Event) -> None:
        """Discard the event."""


async def ask_model(
    request: ModelRequest, context: TurnContext, totals: UsageTotals, sink: TurnSink
) -> str:
    """Return the model's answer as text; its usage is counted however the request ends.

    Raises:
        TurnError: the model cannot be asked, failed, or returned no text.
    """
    step = ModelStep(context.model, _EmptyToolbox(), sink, context.new_id, None)
    try:
        stop = await step.run(request)
    finally:
        if step.usage != Usage():
            totals.add(step.usage, context.meter.cost_usd(step.usage))
    parts = step.reply(with_calls=False)
    texts = [p.text for p in parts if isinstance(p, Text | ProviderBlock) and p.text]
    # A reply with a tool call is unusable too: no tool was offered, so the text is incomplete.
    if stop == "refusal" or step.calls() or not texts:
        reason = "the model returned no text"
        raise ModelFailedError(reason)
    return "\n".join(texts)


class _EmptyToolbox:
    """A toolbox without tools: a text request allows none."""

    specs: tuple[ToolSpec, ...] = ()

    async def open(self, call_id: str, name: str, sink: TurnSink) -> LiveCall:
        """Return a call that never runs."""
        del call_id, name, sink
        return _UnrunnableCall()

    async def attach(self, link: Link, sink: TurnSink) -> tuple[PromptPart, ...]:
        """Return the link unchanged."""
        del sink
        return (link,)

    async def close(self) -> None:
        """Do nothing: no tool is running."""


class _UnrunnableCall:
    """A tool call that never runs."""

    async def write(self, fragment: str) -> None:
        """Discard the arguments."""

    async def run(self, call: ToolCall) -> NoReturn:
        """Refuse to run."""
        raise NotImplementedError(call.name)

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the reason as a failed outcome."""
        return ToolOutcome(reason, is_error=True)
