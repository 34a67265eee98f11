"""The turn queue of one session: one turn runs, the others wait in the order of their prompts.

A prompt is enqueued the moment it is read, before any task runs, so that a cancel that follows
immediately finds it. A cancelled turn gets a short grace period to finish. A turn that ignores its
cancellation is abandoned: its prompt is answered, its events are dropped, the next prompt runs.
"""

from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

import anyio

from acp_server.session.ports.archive import Journal
from acp_server.session.ports.null_archive import NullJournal
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.errors import TurnError
from acp_server.turn.events import TEXT_CHUNKS, Event
from acp_server.turn.ports import StopReason

GRACE_SECONDS = 0.2
SETTLE_SECONDS = 1.0
"""The longest wait, after a cancelled turn, until its prompt may be answered."""


def _ignore() -> None: ...


class QueuedPrompt:
    """A prompt's place in the queue; cancels the prompt in any state."""

    def __init__(self) -> None:
        self.scope = anyio.CancelScope()
        self.is_next = anyio.Event()
        self.is_cancelled = anyio.Event()
        self.is_done = anyio.Event()
        self.checkpoint = ""
        """Id of the state before it, once it runs a turn."""
        self.is_aside = False
        """Whether it is answered while a turn runs."""
        self.on_prepared: Callable[[], object] = _ignore
        """Called when its turn is prepared, and when it is cancelled; perhaps more than once."""
        self._settling: anyio.CancelScope | None = None

    def cancel(self) -> None:
        """Stop waiting or running. The prompt is answered with `cancelled`."""
        # The scope only interrupts the job; the event wakes the watcher that may abandon it.
        self.is_cancelled.set()
        self.scope.cancel()
        self.on_prepared()
        # A user who cancels again does not want to wait.
        if self._settling is not None:
            self._settling.cancel()

    async def settle(self, is_answerable: anyio.Event) -> None:
        """Wait, for a limited time, until it may be answered; another cancel ends the wait."""
        with anyio.move_on_after(SETTLE_SECONDS) as self._settling:
            await is_answerable.wait()


class EventSink(Protocol):
    """Receives a session's events."""

    async def ready(self) -> None:
        """Wait while the client is slow. An event shown right after returning keeps its order."""
        ...

    def show(self, event: Event) -> None:
        """Show an event immediately, regardless of the amount of unsent output."""
        ...


class RevocableSink:
    """Records a turn's events and shows them, and drops them after the turn is abandoned.

    This includes events that were waiting for a slow client: they would appear after the response.
    """

    def __init__(self, sink: EventSink, journal: Journal | None = None) -> None:
        self._sink = sink
        self._journal = journal or NullJournal()
        self.is_open = True
        self._text_end: anyio.Event | None = None
        """Set when the text that is being shown ends; None between texts."""

    async def wait_between_texts(self) -> None:
        """Wait while a text is being shown: clients would join another text to it."""
        while self._text_end is not None:
            await self._text_end.wait()

    def end_text(self) -> None:
        """Note that the text shown last is complete."""
        if self._text_end is not None:
            self._text_end.set()
            self._text_end = None

    def _track_text(self, event: Event) -> None:
        if not isinstance(event, TEXT_CHUNKS):
            self.end_text()
        elif self._text_end is None:
            self._text_end = anyio.Event()

    async def emit(self, event: Event) -> None:
        """Forward the event unless the turn was abandoned."""
        if self.is_open:
            await self._sink.ready()
        # Checked again: the sink may have been closed during the wait.
        if self.is_open:
            self._journal.show(event)
            self._sink.show(event)
            self._track_text(event)

    def emit_now(self, event: Event) -> None:
        """Forward the event immediately unless the turn was abandoned."""
        if self.is_open:
            # Stored first: the user must never have seen an event that a replay lacks.
            self._journal.show(event)
            self._sink.show(event)
            self._track_text(event)


@frozen_dataclass
class TurnJob:
    """A queued prompt's job, and its clean-up if it does not end."""

    run: Callable[[RevocableSink], Awaitable[StopReason]]
    flush: Callable[[], None]
    """Records unfinished work before the next turn starts."""
    abandon: Callable[[], None]
    """Answers the prompt without waiting for the job."""
    is_answerable: anyio.Event | None = None
    """Set once everything is shown that must not follow the answer, even of a cancelled prompt."""


class TurnQueue:
    """The queued prompts of one session, first in, first out."""

    def __init__(self) -> None:
        self._prompts: deque[QueuedPrompt] = deque()
        self._asides: list[QueuedPrompt] = []
        """Prompts that are answered while a turn runs."""
        self._is_closing = False

    def enqueue(self) -> QueuedPrompt:
        """Enqueue a prompt."""
        # Synchronous on purpose: no cancel can slip in between reading and enqueueing a prompt.
        queued_prompt = QueuedPrompt()
        self._prompts.append(queued_prompt)
        self._start_first()
        return queued_prompt

    def enqueue_aside(self) -> QueuedPrompt:
        """Take a prompt that need not wait for the others."""
        aside = QueuedPrompt()
        aside.is_aside = True
        aside.is_next.set()
        self._asides.append(aside)
        return aside

    def cancel_all(self) -> None:
        """Cancel the running prompts and all waiting ones."""
        # A copy: cancelling may release a prompt, which changes the queue during the iteration.
        for queued_prompt in (*self._prompts, *self._asides):
            queued_prompt.cancel()

    def close(self) -> None:
        """Cancel all prompts; from now on their answers wait for nothing."""
        self._is_closing = True
        self.cancel_all()

    @property
    def is_empty(self) -> bool:
        """Whether no prompt is running or waiting."""
        return not self._prompts and not self._asides

    async def wait_until_idle(self) -> None:
        """Wait until every prompt queued so far has ended."""
        # Only prompts queued by now: with later ones a busy client could keep this from returning.
        for queued_prompt in (*self._prompts, *self._asides):
            await queued_prompt.is_done.wait()

    async def run(self, prompt: QueuedPrompt, sink: RevocableSink, job: TurnJob) -> StopReason:
        """Wait for the prompt's place, then run its job; return `cancelled` if it was cancelled.

        Raises:
            TurnError: raised by the job, unless it was cancelled.
        """
        reason: StopReason = "cancelled"
        try:
            # The watcher runs outside the prompt's scope, or a cancel would stop it together with
            # the job.
            async with anyio.create_task_group() as watcher:
                watcher.start_soon(self._abandon_after_grace, prompt, sink, job)
                # The scope swallows its own cancellation: `reason` is still `cancelled` after it.
                with prompt.scope:
                    await prompt.is_next.wait()
                    try:
                        reason = await job.run(sink)
                    except TurnError:
                        # An error that the turn's cancellation caused is not a failure.
                        if not prompt.is_cancelled.is_set():
                            raise
                watcher.cancel_scope.cancel()  # the job ended in time: stop the watcher
            await self._settle(prompt, job)
        except ExceptionGroup as group:
            # The task group wraps the job's error; callers expect the bare TurnError.
            failure = group.exceptions[0]
            raise failure from failure.__cause__
        finally:
            self._release(prompt)  # after an abandoned turn this is the second, harmless call
        # Even a job that completed despite its cancel: ACP demands `cancelled` as the answer.
        return "cancelled" if prompt.is_cancelled.is_set() else reason

    async def _abandon_after_grace(
        self, queued_prompt: QueuedPrompt, turn_sink: RevocableSink, job: TurnJob
    ) -> None:
        """Abandon the turn if it has not ended some time after its cancellation."""
        await queued_prompt.is_cancelled.wait()
        await anyio.sleep(GRACE_SECONDS)
        # The order matters. Flush while the sink is open, so that unfinished calls are shown as
        # failed; close the sink, so that nothing follows the response; settle; answer; let the
        # next run.
        job.flush()
        turn_sink.is_open = False
        await self._settle(queued_prompt, job)
        job.abandon()
        self._release(queued_prompt)

    async def _settle(self, prompt: QueuedPrompt, job: TurnJob) -> None:
        """Wait until a cancelled prompt may be answered, unless it was abandoned before."""
        event = job.is_answerable
        if event is None or event.is_set() or self._is_closing:
            return
        if prompt.is_cancelled.is_set() and not prompt.is_done.is_set():
            await prompt.settle(event)

    def _release(self, queued_prompt: QueuedPrompt) -> None:
        # Set even if the prompt never ran, or `wait_until_idle` would wait for ever.
        queued_prompt.is_done.set()
        prompts = self._asides if queued_prompt.is_aside else self._prompts
        if queued_prompt in prompts:  # an abandoned turn was removed before
            prompts.remove(queued_prompt)
        self._start_first()

    def _start_first(self) -> None:
        if self._prompts:
            self._prompts[0].is_next.set()
