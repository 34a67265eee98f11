"""A session: one conversation with its workspace, options and queue of turns."""

from collections.abc import Callable

from acp_server.session.context import SessionContext
from acp_server.session.errors import RestoreRefusedError
from acp_server.session.ports.checkpoints import RestoreReport, RestoreScope
from acp_server.session.ports.reviews import Reviews
from acp_server.session.prompt_results import PromptResult
from acp_server.session.prompt_runner import PromptRunner
from acp_server.session.steering import BusyMode
from acp_server.session.tools import SessionTools
from acp_server.session.turn_queue import EventSink, QueuedPrompt, RevocableSink, TurnJob
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import UserMessage
from acp_server.turn.ports import StopReason, TurnSink


@frozen_dataclass
class Session:
    """A conversation in a workspace; `builder.build_session` creates it."""

    context: SessionContext
    tools: SessionTools
    prompting: PromptRunner
    reviews: Reviews
    busy_mode: BusyMode
    """How to treat a prompt that arrives while a turn runs."""

    @property
    def id(self) -> str:
        """The session's id."""
        return self.context.id

    @property
    def is_idle(self) -> bool:
        """Whether no prompt is running or queued."""
        return self.context.queue.is_empty

    @property
    def window_tokens(self) -> int:
        """The selected model's context window in tokens."""
        options = self.context.options
        return options.catalog.meter(options.model_id).window_tokens

    def enqueue(self, message: UserMessage, mode: BusyMode = "queue") -> QueuedPrompt:
        """Enqueue a prompt and cancel a running review; see `PromptRunner.enqueue`."""
        # Before the prompt is queued: a review must not change memory or skills under the turn.
        self.reviews.cancel()
        return self.prompting.enqueue(message, mode)

    async def prompt(
        self,
        queued: QueuedPrompt,
        message: UserMessage,
        sink: EventSink,
        abandon: Callable[[], None],
    ) -> PromptResult:
        """Run a queued prompt, with no review running; see `PromptRunner.run`.

        Raises:
            TurnError: the model cannot be asked, or failed; the user has been told why.
        """
        # A cancelled review finishes the write that it has begun; the turn starts after it.
        await self.reviews.wait_until_closed()
        result = await self.prompting.run(queued, message, sink, abandon)
        # Not if a prompt waits: it would cancel the review that starts here.
        if self.is_idle:
            self.reviews.on_turn_end(result.reason)
        return result

    def enqueue_restore(self) -> QueuedPrompt:
        """Take the place of a turn for a restore, and cancel a running review.

        Raises:
            RestoreRefusedError: a turn is running.
        """
        if not self.is_idle:
            reason = "a turn is running; wait for its end, or cancel it, and restore then"
            raise RestoreRefusedError(reason)
        self.reviews.cancel()
        return self.context.queue.enqueue()

    async def restore(
        self, queued: QueuedPrompt, checkpoint: str, scope: RestoreScope, sink: EventSink
    ) -> RestoreReport:
        """Restore files, the conversation or both to their state before a prompt.

        Raises:
            UnknownCheckpointError: the session has no such checkpoint.
            RestoreRefusedError: it cannot be restored, or the request was cancelled.
        """
        await self.reviews.wait_until_closed()
        recorder = self.context.recorder
        reports: list[RestoreReport] = []

        async def run(turn_sink: TurnSink) -> StopReason:
            checkpoints = (await self.tools.prepare()).checkpoints
            reports.append(await checkpoints.restore(checkpoint, scope, turn_sink))
            recorder.sync()
            await recorder.commit()
            return "end_turn"

        # An abandoned restore is answered when it ends.
        job = TurnJob(run, flush=lambda: None, abandon=lambda: None)
        await self.context.queue.run(queued, RevocableSink(sink, recorder.journal), job)
        if not reports:
            reason = "the restore was cancelled"
            raise RestoreRefusedError(reason)
        return reports[0]

    def cancel(self) -> None:
        """Cancel the running prompt, all queued ones and a review; nothing in an idle session."""
        self.reviews.cancel()
        self.context.queue.cancel_all()

    def stop(self) -> None:
        """Cancel everything for good: the session is about to close."""
        self.reviews.cancel()
        self.context.queue.close()

    async def wait_until_idle(self) -> None:
        """Wait until every prompt queued so far, and a cancelled review, have ended."""
        await self.context.queue.wait_until_idle()
        await self.reviews.wait_until_closed()

    async def close(self) -> None:
        """End all work and release the session to other processes."""
        await self.end_work()
        # Last: closing the journal releases the session, so nothing may be recorded afterwards.
        await self.context.recorder.journal.close()

    async def end_work(self) -> None:
        """End all prompts, then everything that tools left running."""
        # Watchers first, so that no change is reported to a session that is going away.
        self.prompting.stop_following()
        self.tools.stop_following()
        self.stop()
        # Tools and servers are closed only after the turns that use them have ended.
        await self.wait_until_idle()
        await self.tools.close()
        await self.context.external_memory.close()
