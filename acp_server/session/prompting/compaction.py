"""Keeps a conversation within the context window of its model, for as long as the session lasts.

Before each request: old tool results are removed if that pays (`old_results.py`). If the request
would fill the window nonetheless, old tool results are removed, then the newest are cut, then the
model summarizes the conversation. Each step makes much room at once, because it invalidates the
provider's cache. If no summary can be had, texts are cut and old messages removed: a session never
ends because of what is already in it.
"""

import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Literal

import anyio

from acp_server.session.prompting.old_results import (
    CompactionConfig,
    OldResults,
    ResultCosts,
    remove_results,
    unsaved_results,
)
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.session.side_requests import ask_model
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.excerpt import cut_middle
from acp_server.turn.compaction import (
    UNSUMMARIZED,
    append_question,
    build_compacted_messages,
    build_summary_question,
    clear_old_results,
    cut_results,
    cut_texts,
    drop_reasoning,
    index_of_newest,
    index_of_tail,
)
from acp_server.turn.context import TurnContext
from acp_server.turn.context_counter import MAX_SCALE, MeteredRequest
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    ToolResult,
    UserMessage,
)
from acp_server.turn.errors import ContextOverflowError, TurnError
from acp_server.turn.events import (
    CompactionChanged,
    ContextMeasured,
    Event,
    MessageChunk,
    NoticeRaised,
    SummaryChunk,
)
from acp_server.turn.ports import ModelRequest, TurnSink
from acp_server.turn.step import NewId
from acp_server.turn.usage_totals import UsageTotals

logger = logging.getLogger(__name__)

RETRY_SECONDS = 600.0
"""How long no summary is requested after one failed."""
NEWEST_SHARE = 0.3
"""Of the room that is made, the share of the newest messages, which keep their results whole."""
TARGET_SHARE, ENOUGH_SHARE = 0.5, 0.8
"""Fill, relative to the fill that triggers the work, at which clearing and cutting stop, and at
which no summary is needed."""
MAX_RESULT_SHARE, MIN_RESULT_SHARE = 4, 8
"""One tool result takes at most 1/4 of the window. When the window is nearly full, one still takes
1/8 and a batch 1/4, or half of the room for messages if that is less."""
CHARACTER_LIMITS = (20_000, 8_000, 3_000, 1_000, 300)
"""Lengths to which texts are cut, one after the other, until a conversation fits."""
MAX_SUMMARY_ATTEMPTS = 4
"""Requests for one summary, if the endpoint refuses them for their size."""
NO_GENERATION = -1
"""For a request that is no state of the conversation."""
NOTHING_TO_SUMMARIZE = "There is nothing to summarize yet."


class NothingToSummarizeError(TurnError):
    """The conversation holds no answer yet."""

    def __init__(self) -> None:
        super().__init__(NOTHING_TO_SUMMARIZE)


async def _recall_nothing() -> str:
    return ""


def _shows_no_file(call_id: str) -> bool:
    del call_id
    return False


@frozen_dataclass
class _Fill:
    """How full a context window is; all sizes in tokens, without system prompt and tools."""

    used: int
    limit: int
    """How large the messages may be for a request to fit."""
    trigger: int
    """The fill above which room is made."""


@frozen_dataclass
class _Room(_Fill):
    """The room for messages in a context window, and how to count other messages alike."""

    tokens_per_estimated: float
    context: TurnContext

    @property
    def enough(self) -> int:
        """The fill at which no further step is needed."""
        return int(self.trigger * ENOUGH_SHARE)

    @property
    def target(self) -> int:
        """The fill to aim at."""
        return int(self.trigger * TARGET_SHARE)

    def count(self, messages: Sequence[Message]) -> int:
        """Estimate the size of messages."""
        estimate = self.context.meter.estimate(ModelRequest(messages))
        return ceil(estimate * self.tokens_per_estimated)


@dataclass(slots=True)
class Compactor:
    """Keeps one session's conversation within the context window."""

    totals: UsageTotals
    rebuild_system: Callable[[], Awaitable[str]]
    """Writes the system prompt again; the provider's cache is lost by a summary anyway."""
    outputs: SavedOutputs
    """Keeps what is cut off from results."""
    config: CompactionConfig = field(default_factory=CompactionConfig)
    now_seconds: Callable[[], float] = time.monotonic
    recall: Callable[[], Awaitable[str]] = _recall_nothing
    """Returns what a summary of the conversation must keep besides."""
    shows_file: Callable[[str], bool] = _shows_no_file
    """Whether a call's result is text of a file, which can be read again."""
    _failed_at: float = field(default=float("-inf"), init=False)
    _incompressible: int = field(default=0, init=False)
    """The fill that the last attempt left, if it made too little room."""
    _notified: TurnSink | None = field(default=None, init=False)
    """The last turn with a notice that results were removed."""
    _costs: ResultCosts = field(init=False)

    def __post_init__(self) -> None:
        self._costs = ResultCosts(self.config, self.now_seconds)

    async def prepare_request(
        self, conversation: Conversation, context: TurnContext, sink: TurnSink
    ) -> TurnContext:
        """Return the context for the next request; makes room for it if need be."""
        fill = self._fill(conversation, context)
        old = self._costs.results_to_remove(
            tuple(conversation), conversation.generation, fill.used, context.meter
        )
        if old is not None:
            await self._remove(old, conversation, context, sink)
            fill = self._fill(conversation, context)
        fits = fill.used <= fill.limit
        if fill.used <= fill.trigger or (fits and fill.used < self._incompressible * 1.1):
            return context
        room = self._measure(conversation, context)
        messages = tuple(conversation)
        shorter = self._clear(messages, room)
        if room.count(shorter) > room.enough:
            cut = _cut_to_fit((cut_results,), shorter, room.enough, room)
            # Results are cut only if that is enough: otherwise a summary reads them whole.
            shorter = shorter if cut is None else cut
        if room.count(shorter) <= room.enough:
            self._replace(conversation, shorter, room, sink)
            return context
        if self.now_seconds() - self._failed_at >= RETRY_SECONDS and _has_answer(messages):
            try:
                return await self.compact(conversation, context, sink, is_requested=False)
            except TurnError:
                # The turn goes on; the pause keeps every further step from asking again.
                self._failed_at = self.now_seconds()
        if not fits:
            self._replace(conversation, _force_to_fit(shorter, room), room, sink)
        elif room.count(shorter) < room.trigger:
            self._replace(conversation, shorter, room, sink)
        else:
            self._incompressible = room.used
        return context

    async def compact(
        self,
        conversation: Conversation,
        context: TurnContext,
        sink: TurnSink,
        focus: str = "",
        *,
        is_requested: bool = True,
    ) -> TurnContext:
        """Summarize the conversation now; `focus` names the topics that the summary must keep.

        The user gets a failure notice only if they did not request the summary themselves.

        Raises:
            NothingToSummarizeError: the conversation holds no answer yet.
            TurnError: the model failed; nothing has changed.
        """
        messages = tuple(conversation)
        if not _has_answer(messages):
            raise NothingToSummarizeError
        room = self._measure(conversation, context)
        progress = _CompactionProgress(sink, context.new_id, is_requested=is_requested)
        async with progress.show():
            question = build_summary_question(focus, await self.recall())
            summary = await self.ask(question, conversation, context, progress)
            system = await self.rebuild_system()
        # No await until the end event: a cancel must not leave a rebuilt conversation without it.
        # The user wants it short: only the last message stays.
        newest_tokens = -1 if is_requested else int(room.target * NEWEST_SHARE)
        tail_from = index_of_tail(messages, newest_tokens, room.count)
        carried = context.carry_over(messages[:tail_from]) if context.carry_over else ()
        shorter = build_compacted_messages(
            messages, tail_from, cut_middle(summary, CHARACTER_LIMITS[0]), carried
        )
        if room.count(shorter) > room.enough:
            shorter = _force_to_fit(shorter, room)
        conversation.rebuild(shorter)
        before, after = room.used, room.count(shorter)
        self._incompressible = after if after > room.trigger else 0
        gains: list[str] = []
        if len(shorter) < len(messages):
            gains.append(f"{len(messages)} messages became {len(shorter)}")
        if after < before:
            gains.append(f"about {before:,} tokens became {after:,}")
        title = "The conversation was summarized"
        if gains:
            title += f": {', '.join(gains)}"
        progress.end("completed", notice=NoticeRaised("info", title, context.new_id()))
        context = replace(context, system=system)
        self._report_size(conversation, context, sink)
        return context

    async def ask(
        self, question: str, conversation: Conversation, context: TurnContext, sink: TurnSink
    ) -> str:
        """Return the model's answer to a question behind the conversation, which stays as it is.

        Of a conversation that leaves no room for the question, a shorter form is sent.

        Raises:
            TurnError: the model failed, or returned no text.
        """
        attempts = 0
        while True:
            room, messages = self._measure(conversation, context), tuple(conversation)
            asked = append_question(messages, question)
            # Of the whole: the question may join the last message or follow it.
            added = room.count(asked) - room.count(messages)
            if room.used + added > room.limit:
                shorter = _force_to_fit(messages, replace(room, limit=room.limit - added))
                asked = append_question(shorter, question)
            # The same system prompt and tools as in a normal request, or the cache would not match.
            request = context.request(asked)
            try:
                return await ask_model(request, context, self.totals, sink)
            except ContextOverflowError as error:
                attempts += 1
                refused = MeteredRequest(context.model, context.meter, request, NO_GENERATION)
                # The next measurement knows the smaller window.
                may_help = context.counter.record_overflow(
                    refused, error.request_tokens, error.limit_tokens
                )
                if attempts == MAX_SUMMARY_ATTEMPTS or not may_help:
                    raise

    async def bound_results(
        self, conversation: Conversation, context: TurnContext, results: Sequence[ToolResult]
    ) -> Sequence[ToolResult]:
        """Return the results of a batch, each cut to its share of what is left of the window.

        What is cut off can be read from a file of the session.
        """
        window = context.window_tokens
        batch = ModelRequest((UserMessage(tuple(results)),))
        if context.meter.estimate(batch) * MAX_SCALE <= window // MIN_RESULT_SHARE:
            return results  # small enough however full the window is, so that is not measured
        room = self._measure(conversation, context)
        scale = max(room.tokens_per_estimated, context.counter.scale_of_new(context.model))
        counted = replace(room, tokens_per_estimated=scale)
        sizes = [counted.count((UserMessage((result,)),)) for result in results]
        # More than this would be cut again before the model has seen it. If nothing is left, old
        # results make room, but only so much where system prompt and tools fill most of a window.
        estimated = context.counter.estimate_messages(context.metered_request(conversation))
        # Of a short conversation `used` may be far too low, like any difference of large numbers.
        used = max(room.used, ceil(estimated * room.tokens_per_estimated))
        left = max(room.trigger - used, 0)
        least, least_batch = (
            min(window // share, room.target) for share in (MIN_RESULT_SHARE, MAX_RESULT_SHARE)
        )
        max_tokens = min(window // MAX_RESULT_SHARE, max(least, left // 2))
        max_batch = min(window // 2, max(least_batch, left))
        max_tokens = min(max_tokens, _fair_share(sizes, max_batch))
        return [
            result if size <= max_tokens else await self._cut(result, max_tokens / size)
            for result, size in zip(results, sizes, strict=True)
        ]

    async def _cut(self, result: ToolResult, share: float) -> ToolResult:
        max_characters = int(len(result.text) * share)
        if result.saved_to:
            text = cut_middle(result.text, max_characters, result.saved_to)
            return replace(result, text=text)
        cut = await self.outputs.excerpt(result.call_id, result.text, max_characters)
        return replace(result, text=cut.text, saved_to=cut.saved_to)

    def _fill(self, conversation: Conversation, context: TurnContext) -> _Fill:
        metered = context.metered_request(conversation)
        size = context.counter.count(metered)
        # System prompt and tools: no step can make them smaller.
        nothing = replace(metered.request, messages=())
        fixed = context.counter.estimate(replace(metered, request=nothing))
        limit = max(context.max_request_tokens - fixed, 0)
        threshold = int(context.window_tokens * self.config.threshold) - fixed
        trigger = min(max(threshold, limit // 2), limit)
        return _Fill(max(size - fixed, 0), limit, trigger)

    def _measure(self, conversation: Conversation, context: TurnContext) -> _Room:
        fill = self._fill(conversation, context)
        estimated = context.counter.estimate_messages(context.metered_request(conversation))
        # Of a short conversation, the difference of two large numbers says nothing.
        scale = context.counter.scale(context.model)
        if estimated:
            scale = max(scale, fill.used / estimated)
        return _Room(fill.used, fill.limit, fill.trigger, scale, context)

    async def _remove(
        self, old: OldResults, conversation: Conversation, context: TurnContext, sink: TurnSink
    ) -> None:
        """Remove results; all that no call can show again are kept in files of the session."""
        messages = tuple(conversation)
        saved_to = {
            result.call_id: await self.outputs.save(result.call_id, result.text)
            for result in unsaved_results(messages, old)
            if not self.shows_file(result.call_id)
        }
        # It may have changed while files were written, by a command of the user.
        if tuple(conversation) == messages:
            shorter = remove_results(messages, old, saved_to, self.shows_file)
            room = self._measure(conversation, context)
            self._replace(conversation, shorter, room, sink, settled=old.keep_from)

    def _clear(self, messages: Sequence[Message], room: _Room) -> tuple[Message, ...]:
        newest = index_of_newest(messages, int(room.target * NEWEST_SHARE), room.count)
        return clear_old_results(messages, newest, room.used - room.target, room.count)

    def _replace(
        self,
        conversation: Conversation,
        shorter: Sequence[Message],
        room: _Room,
        sink: TurnSink,
        settled: int = 0,
    ) -> None:
        """Replace the messages and tell the user; the first `settled` ones are to stay."""
        shorter = drop_reasoning(shorter)
        if shorter == tuple(conversation):
            return
        conversation.rebuild(shorter, settled)
        after = room.count(shorter)
        purpose = "save costs" if settled else "make room"
        title = (
            f"Old tool results were removed from the conversation to {purpose}: about "
            f"{room.used:,} tokens became {after:,}"
        )
        # In a small window this happens every few steps; the meter shows each of them.
        if sink is not self._notified:
            self._notified = sink
            sink.emit_now(NoticeRaised("info", title, room.context.new_id()))
        self._incompressible = after if after > room.trigger else 0
        self._report_size(conversation, room.context, sink)

    def _report_size(
        self, conversation: Conversation, context: TurnContext, sink: TurnSink
    ) -> None:
        used = context.counter.count(context.metered_request(conversation))
        self.totals.context_tokens = used
        if used:  # some models, such as scripts, have no window
            sink.emit_now(ContextMeasured(used, context.window_tokens, self.totals.cost_usd))


Cut = Callable[[Sequence[Message], int], tuple[Message, ...]]


def _cut_to_fit(
    cuts: Sequence[Cut], messages: Sequence[Message], max_tokens: int, room: _Room
) -> tuple[Message, ...] | None:
    """Return the mildest cut that fits, or None."""
    for cut in cuts:
        for max_characters in CHARACTER_LIMITS:
            shorter = cut(messages, max_characters)
            if room.count(shorter) <= max_tokens:
                return shorter
    return None


def _force_to_fit(messages: Sequence[Message], room: _Room) -> tuple[Message, ...]:
    """Return messages that fit whatever it takes: cut, and at last without the oldest."""
    messages = drop_reasoning(messages)
    max_tokens = min(room.limit, max(room.enough, room.limit // 2))
    shorter = _cut_to_fit((cut_results, cut_texts), messages, max_tokens, room)
    if shorter is not None:
        return shorter
    shorter = cut_texts(messages, CHARACTER_LIMITS[-1])
    tail_from = index_of_tail(shorter, max_tokens // 2, room.count)
    shorter = build_compacted_messages(shorter, tail_from, UNSUMMARIZED)
    # The user's words, which come first in it, may be too long for a very small window.
    return _cut_to_fit((cut_texts,), shorter, max_tokens, room) or shorter


def _fair_share(sizes: Sequence[int], total: int) -> int:
    """Return the largest size such that all sizes, cut to it, stay within the total."""
    left, share = total, total
    for rank, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - rank)
        if size > share:
            break
        left -= size
    else:
        return max(sizes, default=total)
    return share


def _has_answer(messages: Sequence[Message]) -> bool:
    return any(isinstance(message, AssistantMessage) for message in messages)


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
