"""The model is asked for a text beside the conversation: a summary, something condensed."""

from typing import NoReturn

from acp_server.turn.conversation import Link, PromptPart, ProviderBlock, Text, ToolCall
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import Event, Usage
from acp_server.turn.loop import Kit, Spent
from acp_server.turn.ports import LiveCall, ModelRequest, Outcome, Sink, ToolSpec
from acp_server.turn.step import Step


class Nobody:
    """A sink for what nobody is to see."""

    async def emit(self, event: Event) -> None:
        """Drop it."""

    def emit_now(self, event: Event) -> None:
        """Drop it."""


async def answer_to(request: ModelRequest, kit: Kit, spent: Spent, sink: Sink) -> str:
    """Return the text that the model answers with; what it used is counted, however it ends.

    Raises:
        TurnError: it cannot be asked, failed, or wrote no text.
    """
    step = Step(kit.model, _NoCalls(), sink, kit.new_id, None)
    try:
        stop = await step.run(request)
    finally:
        if step.usage != Usage():
            spent.add(step.usage, kit.meter.cost_usd(step.usage))
    parts = step.reply(with_calls=False)
    said = [p.text for p in parts if isinstance(p, Text | ProviderBlock) and p.text]
    if stop == "refusal" or step.calls() or not said:
        reason = "the model wrote nothing"
        raise ModelFailedError(reason)
    return "\n".join(said)


class _NoCalls:
    """A toolbox whose calls lead to nothing: for a text, none is made."""

    specs: tuple[ToolSpec, ...] = ()

    async def open(self, call_id: str, name: str, sink: Sink) -> LiveCall:
        """Take a call that will never run."""
        del call_id, name, sink
        return _DeadCall()

    async def attach(self, link: Link, sink: Sink) -> tuple[PromptPart, ...]:
        """Leave a link as it is."""
        del sink
        return (link,)

    async def close(self) -> None:
        """There is nothing to end."""


class _DeadCall:
    """A call that will never run."""

    async def write(self, fragment: str) -> None:
        """Drop it."""

    async def run(self, call: ToolCall) -> NoReturn:
        """Refuse."""
        raise NotImplementedError(call.name)

    def cut_short(self, reason: str) -> Outcome:
        """Say why."""
        return Outcome(reason, is_error=True)
