"""The turn loop: one user message in, model steps until the model is done, one stop reason out.

The conversation is append-only and always valid for a provider: every tool call is followed by its
result, no message is empty, none ends in reasoning. Each message is appended before it has an
effect, and output received so far is kept however the turn ends.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import anyio

from acp_server.turn.context import TurnContext
from acp_server.turn.context_counter import MeteredRequest
from acp_server.turn.continuation import (
    ANSWER_AFTER_NOTHING,
    ANSWER_AFTER_THINKING,
    CALL_THROUGH_INTERFACE,
    CONTINUE_CUT,
    CONTINUE_PROMPT,
    CONTINUING,
    CUT_CALL,
    MAX_CONTINUATIONS,
    SAID_NOTHING,
    STOPPED_AT_LIMIT,
)
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    ReplyPart,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
    shorten_attachment,
)
from acp_server.turn.errors import (
    ContextOverflowError,
    CostLimitError,
    FailureKind,
    ModelFailedError,
    ModelInterruptedError,
    PromptTooLargeError,
    RepeatedCallError,
    TurnError,
)
from acp_server.turn.events import ContextMeasured, MessageChunk, NoticeRaised, Usage
from acp_server.turn.ports import (
    ModelStop,
    StopReason,
    TurnSink,
)
from acp_server.turn.repetition import (
    ASKED_COUNT,
    ASKED_REASON,
    ASKED_TITLE,
    NOTED_COUNT,
    REPEATED,
    STOPPED,
    RepetitionDetector,
    describe_call,
)
from acp_server.turn.spending_limit import (
    LIMIT_REASON,
    LIMIT_TITLE,
    PRICE_UNKNOWN,
)
from acp_server.turn.step import ModelStep, ToolBatch
from acp_server.turn.usage_totals import UsageTotals

MAX_OVERFLOWS = 4
ATTACHMENT_SHARE = 0.25
"""The largest share of the context window that one attachment may take."""
CHARACTERS_PER_TOKEN = 2.5
NOT_RUN = "not run: the answer ended before this call was complete"
CANCELLED = "cancelled by the user before it had finished"
NO_ANSWER = "(There was no answer: {reason})"
REFUSALS: Mapping[ModelStop, str] = {
    "refusal": "The model refused to answer this. Rephrase the prompt, or choose another model.",
    "content_filter": "The provider's content filter stopped the answer. Rephrase the prompt, or "
    "choose another provider.",
}
"""The notice for each stop reason that ends the turn as a refusal."""
ONE_TOKEN = Usage(input_tokens=1, output_tokens=1)


OUT_OF_SERVICE: frozenset[FailureKind] = frozenset(
    {"overloaded", "rate_limit", "connection", "unknown", "other"}
)
"""Failures of a model after which, its retries exhausted, another one may do."""


def _is_out_of_service(error: TurnError) -> bool:
    return isinstance(error, ModelFailedError) and error.kind in OUT_OF_SERVICE


class Turn:
    """One prompt, from the user's message to its stop reason."""

    def __init__(
        self, conversation: Conversation, context: TurnContext, sink: TurnSink, totals: UsageTotals
    ) -> None:
        self._conversation = conversation
        self._context = context
        self._sink = sink
        self._totals = totals
        self._record_unfinished: Callable[[], None] | None = None
        """Records unfinished work: a partial reply, or running calls."""
        self._is_abandoned = False
        self._interruptions = 0
        self._own_error: TurnError | None = None
        """Why the turn's own model was replaced by a fallback."""
        self._overflows = 0
        """How often in a row the endpoint refused a request for its size."""
        self._overflow: ContextOverflowError | None = None
        """The last refusal, until a request is accepted."""
        self._request: MeteredRequest | None = None
        """The running request, or the last one."""
        self._continued_id: str | None = None
        self._follow_up = ""
        """What to ask the model with the next request, because its answer stopped early."""
        self._continuations = 0
        """How many answers in a row have reached the output limit."""
        self._has_asked_again = False
        """Whether the last answer was empty, and the model was asked again."""
        self._can_ask_again = True
        """Whether the budget allows another request after the running one."""
        self._has_asked_for_call = False
        """Whether the model was asked to make a call that it had written as text."""
        self._repetition = RepetitionDetector()
        self._arrived_input: tuple[UserPart, ...] = ()
        """Notices and user input that arrived while calls ran; appended behind the calls'
        results."""

    async def run(self, prompt: UserMessage) -> StopReason:
        """Answer one prompt.

        Raises:
            PromptTooLargeError: the prompt does not fit the context window; it was not stored.
            TurnError: the model cannot be asked, or failed.
        """
        prompt = self._fit_prompt(prompt)
        self._append(replace(prompt, parts=(*prompt.parts, *self._take_notices())))
        # Durable before the model sees it: after a crash the prompt can be replayed.
        await self._commit()
        for requests_left in reversed(range(self._context.max_requests)):
            self._can_ask_again = requests_left > 0
            if self._context.maintenance is not None:  # such as compaction
                self._context = await self._context.maintenance.prepare_request(
                    self._conversation, self._context, self._sink
                )
            reason = await self._step()
            if self._context.durability is not None and not self._is_abandoned:
                self._context.durability.sync()
            if reason is not None and not await self._append_new_input(reason):
                return reason
        return "max_turn_requests"

    async def _append_new_input(self, reason: StopReason) -> bool:
        """Append input that arrived during the last step; return whether there was any."""
        # A refusal ends the turn; input that waits then runs as its own prompt.
        new_input = await self._take_new_input() if reason in {"end_turn", "max_tokens"} else ()
        if new_input:
            self._append(UserMessage((*self._take_notices(), *new_input)))
            await self._commit()
        return bool(new_input)

    async def _take_new_input(self) -> tuple[UserPart, ...]:
        # Only if another request is allowed; otherwise input would be consumed and never answered.
        # Left in the queue, it runs as its own prompt.
        mid_turn_input = self._context.mid_turn_input
        if mid_turn_input is None or mid_turn_input.is_empty:
            return ()
        if self._is_abandoned or not self._can_ask_again:
            return ()
        return self._shorten_attachments(await mid_turn_input.take(self._sink))

    def _take_notices(self) -> tuple[Text, ...]:
        take = self._context.take_notices
        if take is None or self._is_abandoned:
            return ()
        return tuple(Text(notice, is_remark=True) for notice in take())

    def flush(self) -> None:
        """Record unfinished work and ignore everything the turn does later.

        For a turn that is abandoned while it still runs: the next prompt is appended behind it.
        """
        # Close first: once `_is_abandoned` is set, `_append` drops everything, and the open calls
        # would stay without results.
        self._record_now()
        self._is_abandoned = True

    def _fit_prompt(self, prompt: UserMessage) -> UserMessage:
        """Return the prompt with its attachments shortened to their share of the context window.

        Raises:
            PromptTooLargeError: the prompt alone does not fit even so.
        """
        # Checked before anything is stored: a prompt that never fits would make every later request
        # fail. What is already in the conversation can be shortened, so it does not count.
        context = self._context
        fitted = replace(prompt, parts=self._shorten_attachments(prompt.parts))
        # An estimate that nothing has corrected would refuse prompts that fit a small window.
        context.counter.adopt_restored(context.metered_request(self._conversation))
        prompt_alone, nothing = (
            context.counter.estimate(
                MeteredRequest(context.model, context.meter, context.request(messages), 0)
            )
            for messages in ((fitted,), ())
        )
        if prompt_alone > context.max_request_tokens:
            raise PromptTooLargeError(
                prompt_alone - nothing, max(context.max_request_tokens - nothing, 0)
            )
        return fitted

    def _shorten_attachments(self, parts: Sequence[UserPart]) -> tuple[UserPart, ...]:
        window = self._context.window_tokens
        max_characters = int(window * ATTACHMENT_SHARE * CHARACTERS_PER_TOKEN)
        return tuple(
            part if isinstance(part, ToolResult) else shorten_attachment(part, max_characters)
            for part in parts
        )

    async def _step(self) -> StopReason | None:
        """Ask the model once and run its calls; return None if it must be asked again."""
        if not await self._may_spend():
            return "end_turn"
        # Appended only now: had the turn ended meanwhile, the history would end in a question
        # that the user never asked.
        if self._follow_up:
            follow_up, self._follow_up = self._follow_up, ""
            self._append(UserMessage((Text(follow_up, is_remark=True),)))
        context = self._context
        step = ModelStep(
            context.model,
            context.toolbox,
            self._sink,
            context.new_id,
            self._continued_id,
            keeps_reasoning=not context.is_fallback,
        )
        # Set before the first await: cancellation or `flush` may come at any point from here.
        self._record_unfinished = partial(self._record_partial_reply, step, CANCELLED)
        try:
            stop = await self._ask(step)
        except TurnError as error:
            self._record_unfinished = partial(self._record_partial_reply, step, error.reason)
            raise
        else:
            self._record_unfinished = None  # `_handle_stop` records the complete reply itself
        finally:
            self._record_now()
            # Also of calls that are not kept: a client has seen them.
            self._conversation.call_ids.update(step.live_calls())
            self._count_usage(step)  # tokens of a failed or cancelled call are billed as well
        return await self._handle_stop(step, stop)

    async def _may_spend(self) -> bool:
        """Return whether another request may be made; ask the user at the cost limit.

        Raises:
            CostLimitError: the user cannot be asked.
        """
        limit, meter = self._context.spending_limit, self._context.meter
        if limit is None:
            return True
        if meter.cost_usd(ONE_TOKEN) is None and not limit.has_warned:
            limit.has_warned = True
            self._notify("warning", PRICE_UNKNOWN)
        cost = self._totals.cost_usd
        if cost is None or not limit.is_reached(cost):
            return True
        reason = LIMIT_REASON.format(cost=cost, limit=limit.limit_usd, step=limit.step_usd)
        may_continue = False
        # However the question ends, the history must not end in a prompt without an answer.
        self._record_unfinished = self._append_no_answer
        try:
            answer = await self._ask_to_continue(LIMIT_TITLE, reason)
            if answer is None:
                raise CostLimitError(reason)
            may_continue = answer
        finally:
            if may_continue:
                self._record_unfinished = None
                limit.extend(cost)
            else:
                self._record_now()
        return may_continue

    def _append_no_answer(self) -> None:
        *_, last = self._conversation
        if isinstance(last, UserMessage):
            self._append_reply((), "the cost limit of the session was reached")

    async def _ask(self, step: ModelStep) -> ModelStop | None:
        """Run the step; return None if the model should be asked again.

        That is if the stream broke midway, or if the conversation must be shortened first.
        """
        metered = self._context.metered_request(self._conversation)
        refused, self._request = self._request, metered
        overflow = self._overflow
        # Nothing could be shortened, so it would be refused again, unless the endpoint named its
        # limit: then the answer that is asked for is shorter now.
        if (
            overflow
            and not overflow.limit_tokens
            and refused
            and refused.request.messages == metered.request.messages
        ):
            raise overflow
        try:
            counted = self._context.counter.count(metered)
            return await step.run(replace(metered.request, prompt_tokens=counted))
        except ContextOverflowError as error:
            self._handle_overflow(error, metered)
        except ModelInterruptedError as error:
            await self._handle_interruption(error)
        except TurnError as error:
            if step.has_output or not (self._context.is_fallback or _is_out_of_service(error)):
                raise
            await self._switch_to_fallback(error)
        return None

    def _handle_overflow(self, error: ContextOverflowError, metered: MeteredRequest) -> None:
        """Have the conversation shortened before the next request; raise if that cannot help."""
        # Shortened to a limit that the endpoint names, a conversation fits. Without a name each
        # attempt assumes a smaller one.
        attempts = MAX_OVERFLOWS if error.limit_tokens is None else 1
        if self._overflows >= attempts or self._context.maintenance is None:
            raise error
        counter = self._context.counter
        if not counter.record_overflow(metered, error.request_tokens, error.limit_tokens):
            raise error
        self._overflows += 1
        self._overflow = error

    async def _handle_interruption(self, error: ModelInterruptedError) -> None:
        """Wait before the broken stream is continued; raise if it has broken too often."""
        # Counted per turn, never reset: an endpoint that always breaks must not loop for ever.
        self._interruptions += 1
        if self._interruptions > error.max_continuations:
            raise error
        title = f"{error.reason}; continuing from where it stopped"
        await self._sink.emit(NoticeRaised("warning", title, self._context.new_id()))
        await anyio.sleep(self._context.resume_wait_seconds * 2 ** (self._interruptions - 1))

    async def _switch_to_fallback(self, error: TurnError) -> None:
        """Use the next fallback model for the rest of the turn; raise if there is none."""
        # The user's own model matters: if no fallback answers either, its error is reported.
        self._own_error = self._own_error or error
        if not self._context.fallbacks:
            raise self._own_error from error
        name = self._context.fallbacks[0].name
        self._context = self._context.with_next_fallback()
        title = f"Using {name} for the rest of this turn: {error.reason}"
        await self._sink.emit(NoticeRaised("warning", title, self._context.new_id()))

    async def _handle_stop(self, step: ModelStep, stop: ModelStop | None) -> StopReason | None:
        if stop == "max_tokens":
            return await self._handle_output_limit(step)
        self._continuations = 0
        # With `end_turn` or a refusal the calls are unwanted: shown as failed, left out of the
        # reply.
        calls = step.calls() if stop in {"tool_use", None} else ()
        step.close_calls(calls, NOT_RUN)
        if stop is None and not calls:
            # Keep the partial reply of the broken stream and request the rest. Without a usable
            # partial reply, the same request is simply repeated.
            partial_reply = step.reply(with_calls=False)
            if partial_reply:
                self._continue_reply(step, partial_reply, CONTINUE_PROMPT)
            return None
        self._overflows, self._overflow = 0, None
        if stop is None or calls:
            self._continued_id, self._has_asked_again = None, False
            batch = ToolBatch(step.live_calls(), self._sink)
            ends_turn = await self._run_tools(batch, step.reply(with_calls=True), calls)
            return "end_turn" if ends_turn else None
        return await self._end_reply(step, stop)

    async def _end_reply(self, step: ModelStep, stop: ModelStop) -> StopReason | None:
        """Keep a reply without calls; return None if the model must be asked again."""
        continued_id, self._continued_id = self._continued_id, None  # the next text is a new one
        reply = step.reply(with_calls=False, is_paused=stop == "pause")
        if stop == "pause":
            # The provider interrupted its own tool use and wants the same history again.
            if reply:
                self._append(AssistantMessage(reply))
            return None
        self._append_reply(reply, "it said nothing")
        if stop in REFUSALS:
            self._notify("warning", REFUSALS[stop], is_said=True)
            return "refusal"
        if stop == "written_call" and not self._has_asked_for_call and self._can_ask_again:
            self._has_asked_for_call = True
            self._follow_up = CALL_THROUGH_INTERFACE
            return None
        # The rest of an answer may well be empty: the answer had been complete.
        if not reply and continued_id is None and not self._context.may_say_nothing:
            return await self._handle_empty_reply()
        return "end_turn"

    async def _handle_output_limit(self, step: ModelStep) -> StopReason | None:
        """Keep a reply that reached the output limit, run its calls, and request the rest."""
        self._overflows, self._overflow = 0, None
        cut = step.complete_cut_calls()
        calls = step.calls()
        self._continuations += 1
        has_ended = self._continuations > MAX_CONTINUATIONS or not self._can_ask_again
        if has_ended:
            title = STOPPED_AT_LIMIT.format(times=self._continuations)
            self._notify("warning", title, is_said=True)
        else:
            title = CONTINUING.format(number=self._continuations, most=MAX_CONTINUATIONS)
            self._notify("info", title)
        if calls:
            self._continued_id = None
            batch = ToolBatch(step.live_calls(), self._sink)
            for call in calls:
                if call.id in cut:
                    batch.result(call, CUT_CALL.format(characters=cut[call.id]))
            ends_turn = await self._run_tools(batch, step.reply(with_calls=True), calls)
            if ends_turn:
                return "end_turn"
            return "max_tokens" if has_ended else None
        step.close_calls((), NOT_RUN)  # server-side calls without a result
        reply = step.reply(with_calls=False)
        if has_ended:
            self._append_reply(reply, "it reached the output limit")
            return "max_tokens"
        if reply:
            self._continue_reply(step, reply, CONTINUE_CUT)
        else:
            self._append_reply((), "it reached the output limit")
            self._follow_up = ANSWER_AFTER_THINKING
        return None

    def _continue_reply(
        self, step: ModelStep, reply: tuple[ReplyPart, ...], follow_up: str
    ) -> None:
        """Keep the first part of a reply and request the rest."""
        self._append(AssistantMessage(reply))
        # Clients concatenate chunks by message id, so the rest appears in the same message.
        self._continued_id = step.message_id
        self._follow_up = follow_up

    async def _handle_empty_reply(self) -> StopReason | None:
        """Ask the model once more after an empty reply; after a second one, tell the user."""
        if self._has_asked_again or not self._can_ask_again:
            await self._sink.emit(MessageChunk(self._context.new_id(), SAID_NOTHING))
            return "end_turn"
        self._has_asked_again = True
        self._follow_up = ANSWER_AFTER_NOTHING
        return None

    def _notify(
        self, severity: Literal["info", "warning"], title: str, *, is_said: bool = False
    ) -> None:
        # Without an await: a cancel here would lose a reply that is not recorded yet.
        self._sink.emit_now(NoticeRaised(severity, title, self._context.new_id(), is_said))

    def _record_partial_reply(self, step: ModelStep, reason: str) -> None:
        """Record the partial reply of a step that was cancelled or failed."""
        step.close_calls((), reason)
        self._append_reply(step.reply(with_calls=False), reason)

    async def _run_tools(
        self, batch: ToolBatch, reply: tuple[ReplyPart, ...], calls: Sequence[ToolCall]
    ) -> bool:
        """Run a batch of calls concurrently and record a result for each, whatever happens.

        Return whether the turn ends with it because the user was asked and has not answered yet.
        """
        self._append(AssistantMessage(reply))
        # The calls are in the history now, so from here every exit must append their results.
        self._record_unfinished = partial(self._record_results, batch, calls)
        try:
            # Durable before the effects: after a crash it is known which calls may have run.
            await self._commit()
            await batch.run(calls)
            # Counted before results are cut: how much is kept depends on what else there is.
            counts = self._repetition.count(batch.results(calls))
            await self._bound_results(batch, calls)
            if not await self._may_repeat(batch, calls, counts):
                return True
            touched = batch.touched_paths(calls)
            if self._context.maintenance is not None and touched:
                found = await self._context.maintenance.find_instructions(
                    self._conversation, touched, self._sink
                )
                for call_id, instructions in found.items():
                    batch.add_instructions(call_id, instructions.text, instructions.labels)
            new_input = await self._take_new_input()
            if new_input:  # perhaps it says how to go on
                self._repetition.reset()
            # Taken last, with no await in between: notices are returned only once, and a cancel
            # here would lose them.
            self._arrived_input = (*self._take_notices(), *new_input)
            # Input that has arrived is the user's answer, so the model is asked again.
            return batch.ends_turn and not new_input
        finally:
            self._record_now()  # also on cancellation: unfinished calls get results that say so

    async def _bound_results(self, batch: ToolBatch, calls: Sequence[ToolCall]) -> None:
        """Cut the results of a batch to what the context window has room for."""
        if self._context.maintenance is not None:
            results = [batch.result(call, CANCELLED) for call in calls]
            batch.replace_results(
                await self._context.maintenance.bound_results(
                    self._conversation, self._context, results
                )
            )

    async def _may_repeat(
        self, batch: ToolBatch, calls: Sequence[ToolCall], counts: Mapping[str, int]
    ) -> bool:
        """Note repeated calls in their results; ask the user if it goes on and on.

        Raises:
            RepeatedCallError: the user cannot be asked.
        """
        repeated = [
            call
            for call in calls
            if counts[call.id] >= NOTED_COUNT and not await batch.is_polling(call)
        ]
        for call in repeated:
            batch.add_note(call.id, REPEATED.format(count=counts[call.id]))
        asked = next((call for call in repeated if counts[call.id] >= ASKED_COUNT), None)
        if asked is None:
            return True
        reason = ASKED_REASON.format(count=counts[asked.id], call=describe_call(asked))
        may_continue = await self._ask_to_continue(ASKED_TITLE, reason)
        if may_continue is None:
            raise RepeatedCallError(reason)
        if not may_continue:
            batch.add_note(asked.id, STOPPED)
        self._repetition.reset()
        return may_continue

    async def _ask_to_continue(self, title: str, reason: str) -> bool | None:
        asker = self._context.continue_asker
        return None if asker is None else await asker.ask_to_continue(title, reason)

    def _record_results(self, batch: ToolBatch, calls: Sequence[ToolCall]) -> None:
        # One message holds all results: providers reject a call whose result is not in the next
        # message.
        results = (batch.result(call, CANCELLED) for call in calls)
        arrived_input, self._arrived_input = self._arrived_input, ()
        self._append(UserMessage((*results, *arrived_input)))

    def _append_reply(self, parts: tuple[ReplyPart, ...], reason: str) -> None:
        # Providers reject an empty assistant message.
        parts = parts or (Text(NO_ANSWER.format(reason=reason)),)
        self._append(AssistantMessage(parts))

    def _append(self, message: Message) -> None:
        # An abandoned turn may still run; the next prompt already writes behind it.
        if not self._is_abandoned:
            self._conversation.append(message)

    async def _commit(self) -> None:
        if self._context.durability is not None:
            await self._context.durability.commit()

    def _record_now(self) -> None:
        # Cleared first: both `flush` and the `finally` of the step call this.
        record, self._record_unfinished = self._record_unfinished, None
        if record is not None:
            record()

    def _count_usage(self, step: ModelStep) -> None:
        # After `flush` the totals belong to the next prompt.
        if self._is_abandoned or step.usage == Usage():
            return
        meter, totals = self._context.meter, self._totals
        totals.add(step.usage, meter.cost_usd(step.usage))
        used = step.usage.prompt_tokens + step.usage.output_tokens
        totals.context_tokens = used
        if self._request is not None:
            self._context.counter.record_usage(self._request, step.usage)
        window = self._context.window_tokens
        self._sink.emit_now(ContextMeasured(used, window, totals.cost_usd))
