"""Model requests outside the conversation, for a summary or a condensed text."""

from acp_server.session.empty_toolbox import EmptyToolbox
from acp_server.turn.context import TurnContext
from acp_server.turn.conversation import ProviderBlock, Text
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import Event, Usage
from acp_server.turn.ports import ModelRequest, TurnSink
from acp_server.turn.step import ModelStep
from acp_server.turn.usage_totals import UsageTotals


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
    step = ModelStep(context.model, EmptyToolbox(), sink, context.new_id, None)
    try:
        stop = await step.run(request)
    finally:
        if step.usage != Usage():
            totals.add(step.usage, context.meter.cost_usd(step.usage))
    parts = step.reply(with_calls=False)
    texts = [p.text for p in parts if isinstance(p, Text | ProviderBlock) and p.text]
    # A reply with a tool call is unusable too: no tool was offered, so the text is incomplete.
    if stop in {"refusal", "content_filter"} or step.calls() or not texts:
        reason = "the model returned no text"
        raise ModelFailedError(reason)
    return "\n".join(texts)
