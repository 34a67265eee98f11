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

from acp_server.session.side_requests import answer_to
from acp_server.turn.compaction import compacted, request_for_summary, split
from acp_server.turn.conversation import Conversation, Message
from acp_server.turn.errors import TurnError
from acp_server.turn.events import (
    CompactionChanged,
    Event,
    MessageChunk,
    NoticeRaised,
    SummaryChunk,
)
from acp_server.turn.loop import Kit, Spent
from acp_server.turn.ports import ModelRequest, Sink
from acp_server.turn.step import NewId

logger = logging.getLogger(__name__)

RETRY_SECONDS = 600.0
LEAST_SAVED_SHARE = 0.1
MOST_POOR_PASSES = 2
NOT_WORTH_IT = "The conversation is too short to summarize."


class TooShortError(TurnError):
    """The conversation is too short to summarize."""

    def __init__(self) -> None:
        super().__init__(NOT_WORTH_IT)


@dataclass(slots=True)
class Compactor:
    """Keeps one session's conversation within the context window."""

    spent: Spent
    rebuild_system: Callable[[], Awaitable[str]]
    """Writes the system prompt again; the provider's cache is lost by the compaction anyway."""
    threshold: float = 0.75
    """The share of the context window above which compaction starts by itself."""
    now_seconds: Callable[[], float] = time.monotonic
    _failed_at: float = field(default=float("-inf"), init=False)
    _poor_passes: int = field(default=0, init=False)

    async def prepared(self, conversation: Conversation, kit: Kit, sink: Sink) -> Kit:
        """Return the context for the next request; compacts the conversation first if it is due."""
        is_full = self.spent.context_tokens > self.threshold * kit.meter.window_tokens
        is_resting = self.now_seconds() - self._failed_at < RETRY_SECONDS
        if not is_full or is_resting or self._is_vain(conversation):
            return kit
        try:
            return await self.compact(conversation, kit, sink, is_asked_for=False)
        except TurnError:
            # The turn goes on uncompacted. The pause keeps every further step from asking again.
            self._failed_at = self.now_seconds()
            return kit

    def _is_vain(self, conversation: Conversation) -> bool:
        # The head and tail that compaction keeps can fill the window alone; without this stop,
        # every step would pay for another useless summary.
        return self._poor_passes >= MOST_POOR_PASSES or split(tuple(conversation)) is None

    async def compact(
        self,
        conversation: Conversation,
        kit: Kit,
        sink: Sink,
        focus: str = "",
        *,
        is_asked_for: bool = True,
    ) -> Kit:
        """Compact the conversation now; `focus` names the topics that the summary must keep.

        The user gets a failure notice only if they did not request the compaction themselves.

        Raises:
            TooShortError: the conversation is too short to summarize.
            TurnError: the model failed; nothing has changed.
        """
        messages = tuple(conversation)
        parts = split(messages)
        if parts is None:
            raise TooShortError
        progress = _Progress(sink, kit.new_id, is_asked_for=is_asked_for)
        async with progress.shown():
            summary = await self._summary(request_for_summary(messages, focus), kit, progress)
        # No await until the end event: a cancel must not leave a rebuilt conversation without it.
        shorter = compacted(parts, summary)
        self._judge(messages, shorter, kit)
        conversation.rebuild(shorter)
        # The last measurement describes the old conversation; kept, it would trigger again at once.
        self.spent.context_tokens = 0
        title = f"The conversation was summarized: {len(messages)} messages became {len(shorter)}"
        progress.end("completed", notice=NoticeRaised("info", title, kit.new_id()))
        return replace(kit, system=await self.rebuild_system())

    async def _summary(self, messages: tuple[Message, ...], kit: Kit, sink: Sink) -> str:
        # The same system prompt and tools as in a normal request, or the cache would not match.
        specs = tuple(kit.toolbox.specs)
        request = ModelRequest(messages, kit.system, specs, kit.thought_level)
        return await answer_to(request, kit, self.spent, sink)

    def _judge(self, before: tuple[Message, ...], after: tuple[Message, ...], kit: Kit) -> None:
        """Count consecutive compactions that saved little; after a few, they stop."""
        size = kit.meter.estimate(ModelRequest(before))
        saved = size - kit.meter.estimate(ModelRequest(after))
        self._poor_passes = self._poor_passes + 1 if saved < LEAST_SAVED_SHARE * size else 0


class _Progress:
    """Shows a compaction's progress; of the model's output only the text is shown."""

    def __init__(self, sink: Sink, new_id: NewId, *, is_asked_for: bool) -> None:
        self._sink = sink
        self._new_id = new_id
        self._is_asked_for = is_asked_for
        self._id = new_id()

    @asynccontextmanager
    async def shown(self) -> AsyncGenerator[None]:
        """Emit the start event, and an end event on failure or cancellation."""
        await self._sink.emit(CompactionChanged(self._id, "in_progress"))
        try:
            yield
        except TurnError as error:
            # Every start event needs an end event, or clients show a compaction for ever.
            self.end("failed", error.reason, self._notice_of(error))
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

    def _notice_of(self, error: TurnError) -> NoticeRaised | None:
        title = f"The conversation could not be summarized: {error.reason}"
        return None if self._is_asked_for else NoticeRaised("warning", title, self._new_id())
