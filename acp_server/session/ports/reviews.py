"""The review port: goes over a conversation between turns to find knowledge worth keeping.

A review never changes the conversation and never delays a turn: the next prompt ends it at once.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from acp_server.permissions.modes import Mode
from acp_server.session.turn_queue import EventSink, QueuedPrompt, TurnJob, TurnQueue
from acp_server.session.user_notices import UserNotices
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import TurnContext, UsageTotals
from acp_server.turn.ports import StopReason

if TYPE_CHECKING:
    from acp_server.session.session import Session

ContextFactory = Callable[[], Awaitable[TurnContext]]
"""Returns the context that the session's next turn would run with."""


@frozen_dataclass
class ReviewContext:
    """The parts of a session that a review can access."""

    session_id: str
    workspace: Path
    """The session's directory."""
    conversation: Conversation
    totals: UsageTotals
    """The review's usage is added here."""
    notices: UserNotices
    mode: Callable[[], Mode]
    context: ContextFactory
    save_facts: Callable[[], None]
    """Stores the session's facts, including the usage."""


class Reviews(Protocol):
    """The background reviews of one session."""

    def on_turn_end(self, reason: StopReason) -> None:
        """Note that a turn ended and none is queued; a review may start after a quiet period."""
        ...

    def cancel(self) -> None:
        """Cancel a running or scheduled review before its next change; a begun write completes."""
        ...

    async def wait_until_closed(self) -> None:
        """Wait for a cancelled review to end, for a short time: it can change no more."""
        ...


class NoReviews:
    """A review port that does nothing."""

    def __init__(self, session: "Session", context_factory: ContextFactory) -> None:
        del session, context_factory

    def on_turn_end(self, reason: StopReason) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""

    async def wait_until_closed(self) -> None:
        """Return immediately."""


class ReviewingTurnQueue(TurnQueue):
    """A turn queue that runs reviews between turns."""

    def __init__(self, reviews: Reviews) -> None:
        super().__init__()
        self._reviews = reviews

    def enqueue(self) -> QueuedPrompt:
        """Enqueue a prompt and cancel a running review."""
        self._reviews.cancel()
        return super().enqueue()

    def cancel_all(self) -> None:
        """Cancel every prompt and a running review."""
        self._reviews.cancel()
        super().cancel_all()

    async def wait_until_idle(self) -> None:
        """Wait until every prompt queued so far, and a cancelled review, have ended."""
        await super().wait_until_idle()
        await self._reviews.wait_until_closed()

    async def run(self, prompt: QueuedPrompt, sink: EventSink, job: TurnJob) -> StopReason:
        """Run a prompt's job at its place in the queue, with no review running.

        Raises:
            TurnError: raised by the job, unless it was cancelled.
        """
        # `enqueue` has cancelled the review, but a write that it has begun still completes.
        await self._reviews.wait_until_closed()
        reason = await super().run(prompt, sink, job)
        # This prompt has left the queue by now.
        if self.is_empty:
            self._reviews.on_turn_end(reason)
        return reason


def make_review_context(session: "Session", context_factory: ContextFactory) -> ReviewContext:
    """Return the parts of a session that a review can access."""
    return ReviewContext(
        session_id=session.id,
        workspace=session.workspace.cwd,
        conversation=session.conversation,
        totals=session.totals,
        notices=session.notices,
        mode=lambda: session.mode,
        context=context_factory,
        save_facts=session.recorder.save_facts,
    )
