"""Compaction: when a conversation nears the context-window limit, the model summarizes it.

The summary request is the conversation itself plus one message, so that the provider reads it from
its cache. Nothing changes until the summary is complete.
"""

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Literal

import anyio

from acp_server.session.side_requests import ask_model
from acp_server.turn.compaction import (
    build_compacted_messages,
    build_summary_request,
    split_for_compaction,
)
from acp_server.turn.conversation import Conversation, Message
from acp_server.turn.errors import TurnError
from acp_server.turn.events import (
    CompactionChanged,
    Event,
    MessageChunk,
    NoticeRaised,
    SummaryChunk,
)
from acp_server.turn.loop import TurnContext, UsageTotals
from acp_server.turn.ports import ModelRequest, TurnSink
from acp_server.turn.step import NewId

logger = logging.getLogger(__name__)

RETRY_SECONDS = 600.0
MIN_SAVED_SHARE = 0.1
MAX_POOR_COMPACTIONS = 2
TOO_SHORT = "The conversation is too short to summarize."


class TooShortError(TurnError):
    """The conversation is too short to summarize."""

    def __init__(self) -> None:
        super().__init__(TOO_SHORT)


@dataclass(slots=True)
class Compactor:
    """Keeps one session's conversation within the context window."""

    totals: UsageTotals
    rebuild_system: Callable[[], Awaitable[str]]
    """Writes the system prompt again; the provider's cache is lost by the compaction anyway."""
    threshold: float = 0.75
    """The share of the context window above which compaction starts by itself."""
    now_seconds: Callable[[], float] = time.monotonic
    _failed_at: float = field(default=float("-inf"), init=False)
    _poor_compactions: int = field(default=0, init=False)

    async def prepare_request(
        self, conversation: Conversation, context: TurnContext, sink: TurnSink
    ) -> TurnContext:
        """Return the context for the next request; compacts the conversation first if it is due."""
        is_full = self.totals.context_tokens > self.threshold * context.meter.window_tokens
        is_backing_off = self.now_seconds() - self._failed_at < RETRY_SECONDS
        if not is_full or is_backing_off or self._is_pointless(conversation):
            return context
        try:
            return await self.compact(conversation, context, sink, is_requested=False)
        except TurnError:
            # The turn goes on uncompacted. The pause keeps every further step from asking again.
            self._failed_at = self.now_seconds()
            return context

    def _is_pointless(self, conversation: Conversation) -> bool:
        # The head and tail that compaction keeps can fill the window alone; without this stop,
        # every step would pay for another useless summary.
        return (
            self._poor_compactions >= MAX_POOR_COMPACTIONS
            or split_for_compaction(tuple(conversation)) is None
        )

    async def compact(
        self,
        conversation: Conversation,
        context: TurnContext,
        sink: TurnSink,
        focus: str = "",
        *,
        is_requested: bool = True,
    ) -> TurnContext:
        """Compact the conversation now; `focus` names the topics that the summary must keep.

        The user gets a failure notice only if they did not request the compaction themselves.

        Raises:
            TooShortError: the conversation is too short to summarize.
            TurnError: the model failed; nothing has changed.
        """
        messages = tuple(conversation)
        split = split_for_compaction(messages)
        if split is None:
            raise TooShortError
        progress = _CompactionProgress(sink, context.new_id, is_requested=is_requested)
        async with progress.show():
            summary = await self._request_summary(
                build_summary_request(messages, focus), context, progress
            )
        # No await until the end event: a cancel must not leave a rebuilt conversation without it.
        shorter = build_compacted_messages(split, summary)
        self._count_poor_compactions(messages, shorter, context)
        conversation.rebuild(shorter)
        # The last measurement describes the old conversation; kept, it would trigger again at once.
        self.totals.context_tokens = 0
        title = f"The conversation was summarized: {len(messages)} messages became {len(shorter)}"
        progress.end("completed", notice=NoticeRaised("info", title, context.new_id()))
        return replace(context, system=await self.rebuild_system())

    async def _request_summary(
        self, messages: tuple[Message, ...], turn_context: TurnContext, sink: TurnSink
    ) -> str:
        # The same system prompt and tools as in a normal request, or the cache would not match.
        specs = tuple(turn_context.toolbox.specs)
        request = ModelRequest(messages, turn_context.system, specs, turn_context.thought_level)
        return await ask_model(request, turn_context, self.totals, sink)

    def _count_poor_compactions(
        self, before: tuple[Message, ...], after: tuple[Message, ...], turn_context: TurnContext
    ) -> None:
        """Count consecutive compactions that saved little; after a few, they stop."""
        # Both are estimates: the new size is measured by the next request only.
        size = turn_context.meter.estimate(ModelRequest(before))
        saved = size - turn_context.meter.estimate(ModelRequest(after))
        self._poor_compactions = self._poor_compactions + 1 if saved < MIN_SAVED_SHARE * size else 0


class _CompactionProgress:
    """Shows a compaction's progress; of the model's output only the text is shown."""

    def __init__(self, sink: TurnSink, new_id: NewId, *, is_requested: bool) -> None:
        self._sink = sink
        self._new_id = new_id
        self._is_requested = is_requested
        self._id = new_id()

    @asynccontextmanager
    async def show(self) -> AsyncGenerator[None]:
        """Emit the start event, and an end event on failure or cancellation."""
        await self._sink.emit(CompactionChanged(self._id, "in_progress"))
        try:
            yield
        except TurnError as error:
            # Every start event needs an end event, or clients show a compaction for ever.
            self.end("failed", error.reason, self._failure_notice(error))
            raise
        except anyio.get_cancelled_exc_class():
            self.end("cancelled")
            raise

    def end(
        self,
        status: Literal["completed", "failed", "cancelled"],
        error: str = "",
        notice: NoticeRaised | None = None,
    ) -> None:
        """Emit the end event; works during cancellation as well."""
        self._sink.emit_now(CompactionChanged(self._id, status, error, notice))

    async def emit(self, event: Event) -> None:
        """Show another piece of the summary."""
        if isinstance(event, MessageChunk):
            await self._sink.emit(SummaryChunk(self._id, event.text))

    def emit_now(self, event: Event) -> None:
        """Discard the event."""

    def _failure_notice(self, error: TurnError) -> NoticeRaised | None:
        title = f"The conversation could not be summarized: {error.reason}"
        return None if self._is_requested else NoticeRaised("warning", title, self._new_id())
