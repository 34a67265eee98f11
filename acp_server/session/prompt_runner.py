"""Runs the prompts of a session: routing, enrichment, the turn, and what is recorded of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from acp_server.session.commands.command import parse_invocation
from acp_server.session.commands.router import PromptRouter, RoutedPrompt
from acp_server.session.context import SessionContext
from acp_server.session.ids import new_id
from acp_server.session.model_names import find_model
from acp_server.session.ports.external_memory import ExternalMemorySession
from acp_server.session.ports.toolset import SessionToolset
from acp_server.session.project.requests import ProjectRequests
from acp_server.session.prompt_results import PromptResult
from acp_server.session.prompting.context_maintenance import show_notices
from acp_server.session.prompting.enricher import PromptEnricher
from acp_server.session.prompting.provider import LoadedFile, PromptProvider
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.session.steering import BusyMode, MidTurnInputSource, Steering, turn_result
from acp_server.session.tools import SessionTools
from acp_server.session.turn_contexts import TurnContextBuilder
from acp_server.session.turn_queue import EventSink, QueuedPrompt, RevocableSink, TurnJob
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.context import TurnContext
from acp_server.turn.conversation import UserMessage, prompt_to_text
from acp_server.turn.errors import TurnError
from acp_server.turn.events import MessageChunk
from acp_server.turn.loop import Turn
from acp_server.turn.ports import StopReason, TurnSink
from acp_server.turn.spending_limit import SpendingLimit
from acp_server.turn.usage_totals import UsageTotals

NO_SUCH_MODEL = (
    "The command asks for the model `{model}`, which is not available; the selected one is used"
)


@dataclass(slots=True)
class PromptRunner:
    """Runs the queued prompts of one session."""

    context: SessionContext
    tools: SessionTools
    provider: Lazy[PromptProvider]
    external_memory: ExternalMemorySession
    system: SystemPrompt
    turn_contexts: TurnContextBuilder
    project: ProjectRequests
    router: PromptRouter
    enricher: PromptEnricher
    spending_limit: SpendingLimit | None
    active_file: Path | None = field(default=None, init=False)
    """The file in the user's view, if the editor reports it."""
    _steering: Steering = field(default_factory=Steering, init=False)
    _running: QueuedPrompt | None = field(default=None, init=False)
    _turn_sink: RevocableSink | None = field(default=None, init=False)
    """The sink of the running turn, once its context is assembled."""

    @property
    def instructions(self) -> Sequence[LoadedFile]:
        """The instruction files delivered to the model so far."""
        provider = self.provider.loaded
        return () if provider is None else provider.loaded_files()

    def set_client_instructions(self, text: str | None) -> None:
        """Add the client's instructions to the system prompt; None keeps those from before."""
        if text is None or text == self.system.client_instructions:
            return
        self.system.client_instructions = text
        if not self.system.is_unverified:  # written in this process, without them
            self.system.discard()

    def enqueue(self, message: UserMessage, mode: BusyMode = "queue") -> QueuedPrompt:
        """Enqueue a prompt; must be called in the order in which prompts arrive.

        While a turn runs, the prompt may join that turn or replace it, depending on `mode`. A
        command that only reads is answered meanwhile.
        """
        invocation = parse_invocation(prompt_to_text(message.parts))
        if invocation and self._turn_sink and self.router.commands.only_reads(invocation):
            return self.context.queue.enqueue_aside()
        if mode == "interrupt":
            # Before `enqueue`: afterwards it would cancel the new prompt as well.
            self.context.queue.cancel_all()
        queued_prompt = self.context.queue.enqueue()
        # Commands are never steered: they are answered here and would reach the model as text.
        # A prompt that is already next has no running turn to join.
        if mode == "steer" and invocation is None and not queued_prompt.is_next.is_set():
            self._steering.offer(queued_prompt, message)
        return queued_prompt

    async def run(
        self,
        queued: QueuedPrompt,
        message: UserMessage,
        sink: EventSink,
        abandon: Callable[[], None],
    ) -> PromptResult:
        """Run a queued prompt; `abandon` is called if the turn does not react to cancellation.

        Raises:
            TurnError: the model cannot be asked, or failed; the user has been told why.
        """
        turns: list[Turn] = []
        totals, recorder = self.context.totals, self.context.recorder
        before: UsageTotals | None = None

        async def run(turn_sink: RevocableSink) -> StopReason:
            nonlocal before
            if queued.is_aside:
                return await self._answer_aside(message, turn_sink)
            before = totals.copy()  # not earlier: other prompts may run while this one waits
            # The previous turn may have taken this prompt: then it is answered already.
            end = self._steering.take_end(queued)
            if end is not None:
                return turn_result(end)
            try:
                reason = await self._run_prompt(queued, message, turn_sink, turns)
            except TurnError as error:
                # Also shown as a message: many clients hide the data of a JSON-RPC error.
                # An error caused by the cancel itself is not news for the user.
                if not queued.is_cancelled.is_set():
                    await turn_sink.emit(MessageChunk(new_id(), error.reason))
                await self._commit_end(queued)
                raise
            await self._commit_end(queued)
            return reason

        def flush() -> None:
            # `turns` is empty if the prompt never got as far as its turn.
            for turn in turns:
                turn.flush()
            self._end_prompt(queued)

        turn_sink = RevocableSink(sink, recorder.journal)
        try:
            # A cancel may end the turn before it has announced the commands; then the warm-up
            # does, and the answer waits for it.
            job = TurnJob(run, flush, abandon, self.context.commands.is_announced)
            reason = await self.context.queue.run(queued, turn_sink, job)
        finally:
            turn_sink.end_text()
            self._end_prompt(queued)
        usage = UsageTotals() if before is None else totals.since(before)
        return PromptResult(reason, usage, queued.checkpoint)

    async def _answer_aside(self, message: UserMessage, sink: RevocableSink) -> StopReason:
        """Answer a command that only reads, between two texts of the running turn."""
        answer = await self.router.answer(message, sink)
        if self._turn_sink is not None:
            await self._turn_sink.wait_between_texts()
        # No await in between: the turn must not begin a text before the answer.
        self.context.recorder.record_prompt(message)
        sink.emit_now(MessageChunk(new_id(), answer))
        await self.context.recorder.commit()
        return "end_turn"

    async def _run_prompt(
        self, queued: QueuedPrompt, message: UserMessage, sink: RevocableSink, turns: list[Turn]
    ) -> StopReason:
        """Answer a prompt by a command, or run its turn; `turns` receives it for `flush`.

        Raises:
            TurnError: the model could not be asked, or failed.
        """
        toolset = await self._begin(queued, message)
        # Around the routing, too: commands that a command file runs for its prompt change files.
        async with toolset.checkpoints.record_turn(message):
            prompt = await self._route(queued, message, sink)
            if prompt is None:
                return "end_turn"
            return await self._run_turn(prompt, sink, turns, queued.on_prepared)

    async def _begin(self, queued: QueuedPrompt, message: UserMessage) -> SessionToolset:
        """Record that a prompt runs, under a checkpoint of its own; return the tools."""
        self._running = queued
        recorder = self.context.recorder
        # Marked before the prompt is stored: after a crash, a prompt without a turn end tells
        # the next process to repair the conversation.
        recorder.journal.begin_turn()
        recorder.record_prompt(message, self.context.checkpoint_ids.create())
        # Within the turn: a client that reads until the response must not miss its commands.
        return await self.tools.prepare()

    async def _route(
        self, queued: QueuedPrompt, message: UserMessage, sink: TurnSink
    ) -> RoutedPrompt | None:
        """Return the message for the model; None if a command answered.

        Raises:
            TurnError: a command needed the model, which could not be asked or failed.
        """
        checkpoint = self.context.checkpoint_ids.current
        self.context.commands.announce()
        prompt = await self.router.route(message, sink)
        if prompt is None:
            return None
        queued.checkpoint = checkpoint
        return replace(prompt, message=replace(prompt.message, checkpoint=checkpoint))

    async def _commit_end(self, queued_prompt: QueuedPrompt) -> None:
        """Record the end of a prompt, and return once it survives the end of this process."""
        # Before the prompt is answered: what the user was told is finished must not be lost. A
        # cancelled prompt does not wait: then the await raises.
        self._end_prompt(queued_prompt)
        await self.context.recorder.commit()

    def _end_prompt(self, queued_prompt: QueuedPrompt) -> None:
        """Record the end of a prompt, unless the next one has started meanwhile."""
        # An abandoned prompt ends twice (in `flush`, and when it returns at last). The second
        # time another prompt may be running, whose turn must not be recorded as over.
        if self._running is queued_prompt:
            self._running = None
            self.context.recorder.end_turn()
            self.external_memory.end_turn()

    async def _run_turn(
        self,
        routed: RoutedPrompt,
        sink: RevocableSink,
        turns: list[Turn],
        on_prepared: Callable[[], object],
    ) -> StopReason:
        """Assemble a turn's context and run the turn; `turns` receives it for `flush`."""
        message = routed.message
        # First: system prompt, context window and price all depend on the resolved model.
        await self.context.options.catalog.resolve_default()
        turn_context = await self.turn_contexts.build()
        await show_notices(await self._take_notices(), sink)
        # Project settings are known only after the prompt was written from the project's files,
        # and may change model, tools or mode: then the context must be built again.
        if await self.project.apply(sink):
            turn_context = await self.turn_contexts.build()
        if routed.model is not None:
            turn_context = await self._with_model(turn_context, routed.model, sink)
        prompt = await self.enricher.enrich(
            message, turn_context.toolbox, self.active_file, sink, routed.references
        )
        conversation, totals = self.context.conversation, self.context.totals
        turn = Turn(conversation, self._with_mid_turn_input(turn_context), sink, totals)
        # Known to `flush` before it runs: an abandoned turn must be able to record its remains.
        turns.append(turn)
        toolset = self.tools.current
        end: StopReason | TurnError = "cancelled"  # holds if cancellation skips both branches below
        on_prepared()
        try:
            self._turn_sink = sink
            end = reason = await turn.run(prompt)
            return reason
        except TurnError as error:
            end = error
            raise
        finally:
            if self._turn_sink is sink:  # after an abandoned turn it is the next one's
                self._turn_sink = None
            # Before the next prompt starts: prompts that this turn took look up how it ended.
            self._steering.finish(end)
            toolset.on_turn_end("failed" if isinstance(end, TurnError) else end)

    async def _with_model(
        self, turn_context: TurnContext, name: str, sink: TurnSink
    ) -> TurnContext:
        """Return the turn context with another model, if there is one of this name."""
        found = await find_model(self.context.options.catalog, name)
        if found is None:
            await show_notices((NO_SUCH_MODEL.format(model=name),), sink)
            return turn_context
        return self.context.models.switch(turn_context, found)

    def _with_mid_turn_input(self, turn_context: TurnContext) -> TurnContext:
        """Return the turn context extended by mid-turn input and notices for the model."""

        async def enrich(message: UserMessage, sink: TurnSink) -> UserMessage:
            # No active file: its instructions went with the prompt that started the turn.
            return await self.enricher.enrich(message, turn_context.toolbox, None, sink)

        mid_turn_input = MidTurnInputSource(
            self._steering, enrich, self.context.recorder.record_prompt
        )
        return replace(
            turn_context,
            mid_turn_input=mid_turn_input,
            spending_limit=self.spending_limit,
            continue_asker=self.tools.current.continue_asker,
            take_notices=self.tools.current.take_notices,
        )

    async def _take_notices(self) -> Sequence[str]:
        """Return the notices to show before the turn, once."""
        provider = await self.provider.get()
        # No await from here on: notices are returned only once, and a cancel would lose them.
        rewritten = self.system.take_notice()
        notices = self.context.notices.take()
        return [*notices, *([rewritten] if rewritten else ()), *provider.take_notices()]

    def stop_following(self) -> None:
        """Stop reporting changes of instruction files."""
        provider = self.provider.loaded
        if provider is not None:
            provider.close()
