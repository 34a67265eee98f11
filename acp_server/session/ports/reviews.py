"""The review port: goes over a conversation between turns to find knowledge worth keeping.

A review never changes the conversation and never delays a turn: the next prompt ends it at once.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from acp_server.permissions.modes import Mode
from acp_server.session.turn_queue import Screen, Ticket, TurnQueue, Work
from acp_server.session.user_notices import Bulletin
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Kit, Spent
from acp_server.turn.ports import StopReason

if TYPE_CHECKING:
    from acp_server.session.session import Session

KitMaker = Callable[[], Awaitable[Kit]]
"""Returns the context that the session's next turn would run with."""


@frozen
class Reviewed:
    """The parts of a session that a review can access."""

    session_id: str
    workspace: Path
    """The session's directory."""
    conversation: Conversation
    spent: Spent
    """The review's usage is added here."""
    bulletin: Bulletin
    mode: Callable[[], Mode]
    kit: KitMaker
    keep_facts: Callable[[], None]
    """Stores the session's facts, including the usage."""


class Reviews(Protocol):
    """The background reviews of one session."""

    def turn_ended(self, reason: StopReason) -> None:
        """Note that a turn ended and none is queued; a review may start after a quiet period."""
        ...

    def cancel(self) -> None:
        """Cancel a running or scheduled review before its next change; a begun write completes."""
        ...

    async def wait_until_over(self) -> None:
        """Wait for a cancelled review to end, for a short time: it can change no more."""
        ...


class NoReviews:
    """A review port that does nothing."""

    def __init__(self, session: "Session", kit: KitMaker) -> None:
        del session, kit

    def turn_ended(self, reason: StopReason) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""

    async def wait_until_over(self) -> None:
        """Return immediately."""


class ReviewedTurns(TurnQueue):
    """A turn queue that runs reviews between turns."""

    def __init__(self, reviews: Reviews) -> None:
        super().__init__()
        self._reviews = reviews

    def admit(self) -> Ticket:
        """Enqueue a prompt and cancel a running review."""
        self._reviews.cancel()
        return super().admit()

    def cancel_all(self) -> None:
        """Cancel every prompt and a running review."""
        self._reviews.cancel()
        super().cancel_all()

    async def wait_until_idle(self) -> None:
        """Wait until every prompt queued so far, and a cancelled review, have ended."""
        await super().wait_until_idle()
        await self._reviews.wait_until_over()

    async def run(self, ticket: Ticket, screen: Screen, work: Work) -> StopReason:
        """Run a prompt's job at its place in the queue, with no review running.

        Raises:
            TurnError: raised by the job, unless it was cancelled.
        """
        await self._reviews.wait_until_over()
        reason = await super().run(ticket, screen, work)
        if self.is_empty:
            self._reviews.turn_ended(reason)
        return reason


def reviewed(session: "Session", kit: KitMaker) -> Reviewed:
    """Return the parts of a session that a review can access."""
    return Reviewed(
        session_id=session.id,
        workspace=session.workspace.cwd,
        conversation=session.conversation,
        spent=session.spent,
        bulletin=session.bulletin,
        mode=lambda: session.mode,
        kit=kit,
        keep_facts=session.chronicle.keep,
    )
