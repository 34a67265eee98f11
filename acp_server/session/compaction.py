"""When a conversation grows too long for the window: it is summed up, by the model itself.

The question for the summary is the conversation as it stands with one more part behind it, so that
it is read from the provider's cache. Until the summary is there, nothing changes.
"""

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import NoReturn

from acp_server.turn.compaction import compacted, request_for_summary, split
from acp_server.turn.conversation import Conversation, Link, Message, PromptPart, Text, ToolCall
from acp_server.turn.errors import ModelFailedError, TurnError
from acp_server.turn.events import Event, NoticeRaised, Usage
from acp_server.turn.loop import Kit, Spent
from acp_server.turn.ports import LiveCall, ModelRequest, Outcome, Sink, ToolSpec
from acp_server.turn.step import Step

logger = logging.getLogger(__name__)

RETRY_SECONDS = 600.0
LEAST_SAVED_SHARE = 0.1
MOST_POOR_PASSES = 2
NOT_WORTH_IT = "The conversation is too short to be summed up."


class TooShortError(TurnError):
    """There is too little to sum up."""

    def __init__(self) -> None:
        super().__init__(NOT_WORTH_IT)


@dataclass(slots=True)
class Compactor:
    """Keeps one session's conversation within the window."""

    spent: Spent
    rebuild_system: Callable[[], Awaitable[str]]
    """Writes the system prompt anew: the provider's cache is lost anyway."""
    threshold: float = 0.75
    """The share of the window from which on it is done unasked."""
    now_seconds: Callable[[], float] = time.monotonic
    _failed_at: float = field(default=float("-inf"), init=False)
    _poor_passes: int = field(default=0, init=False)

    async def prepared(self, conversation: Conversation, kit: Kit, sink: Sink) -> Kit:
        """Return the kit for the next request, the conversation made shorter if it is time."""
        is_full = self.spent.context_tokens > self.threshold * kit.meter.window_tokens
        is_resting = self.now_seconds() - self._failed_at < RETRY_SECONDS
        is_vain = self._poor_passes >= MOST_POOR_PASSES or split(tuple(conversation)) is None
        if not is_full or is_resting or is_vain:
            return kit
        try:
            return await self.compact(conversation, kit, sink)
        except TurnError as error:
            self._failed_at = self.now_seconds()
            title = f"The conversation could not be summed up: {error.reason}"
            await sink.emit(NoticeRaised("warning", title, kit.new_id()))
            return kit

    async def compact(
        self, conversation: Conversation, kit: Kit, sink: Sink, focus: str = ""
    ) -> Kit:
        """Sum the conversation up now; `focus` says what must not be lost.

        Raises:
            TooShortError: there is too little to sum up.
            TurnError: the model failed; nothing has changed.
        """
        messages = tuple(conversation)
        parts = split(messages)
        if parts is None:
            raise TooShortError
        summary = await self._summary(request_for_summary(messages, focus), kit)
        shorter = compacted(parts, summary)
        self._judge(messages, shorter, kit)
        conversation.rebuild(shorter)
        self.spent.context_tokens = 0
        title = f"The conversation was summed up: {len(messages)} messages are {len(shorter)} now"
        await sink.emit(NoticeRaised("info", title, kit.new_id()))
        return replace(kit, system=await self.rebuild_system())

    async def _summary(self, messages: tuple[Message, ...], kit: Kit) -> str:
        step = Step(kit.model, _NoCalls(), _Nobody(), kit.new_id, None)
        specs = tuple(kit.toolbox.specs)
        try:
            stop = await step.run(ModelRequest(messages, kit.system, specs, kit.thought_level))
        finally:
            self._count(step.usage, kit)
        said = [part.text for part in step.reply(with_calls=False) if isinstance(part, Text)]
        if stop == "refusal" or step.calls() or not said:
            reason = "the model wrote no summary"
            raise ModelFailedError(reason)
        return "\n".join(said)

    def _count(self, usage: Usage, kit: Kit) -> None:
        """Add what a summary used, also one that failed or was cancelled."""
        if usage != Usage():
            self.spent.add(usage, kit.meter.cost_usd(usage))

    def _judge(self, before: tuple[Message, ...], after: tuple[Message, ...], kit: Kit) -> None:
        """Count passes in a row that saved little; there is an end to them."""
        size = kit.meter.estimate(ModelRequest(before))
        saved = size - kit.meter.estimate(ModelRequest(after))
        self._poor_passes = self._poor_passes + 1 if saved < LEAST_SAVED_SHARE * size else 0


class _Nobody:
    """A sink for what nobody is to see."""

    async def emit(self, event: Event) -> None:
        """Drop it."""

    def emit_now(self, event: Event) -> None:
        """Drop it."""


class _NoCalls:
    """A toolbox whose calls lead to nothing: while a summary is written, none is made."""

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
