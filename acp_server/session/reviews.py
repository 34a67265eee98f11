"""Somebody who goes over a conversation between its turns, for what is worth keeping: the port.

A review never changes the conversation and never stands in the way of a turn: the next prompt ends
it at once.
"""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from acp_server.frozen import frozen
from acp_server.permissions.modes import Mode
from acp_server.session.bulletin import Bulletin
from acp_server.session.turns import Screen, Ticket, TurnQueue, Work
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Kit, Spent
from acp_server.turn.ports import StopReason

if TYPE_CHECKING:
    from acp_server.session.session import Session

KitMaker = Callable[[], Awaitable[Kit]]
"""Returns what the next turn of a session would work with."""


@frozen
class Reviewed:
    """What a review sees of a session."""

    session_id: str
    workspace: Path
    """Its folder."""
    conversation: Conversation
    spent: Spent
    """What it uses is added here."""
    bulletin: Bulletin
    mode: Callable[[], Mode]
    kit: KitMaker
    keep_facts: Callable[[], None]
    """Has what was used written down."""


class Reviews(Protocol):
    """The reviews of one session."""

    def turn_ended(self, reason: StopReason) -> None:
        """Note that a turn is over and no other waits; a review may come once it is quiet."""
        ...

    def cancel(self) -> None:
        """End a review that runs or waits, before it changes anything more. Nothing is torn."""
        ...

    async def wait_until_over(self) -> None:
        """Wait until a cancelled review has ended; not for long, it can do no more harm."""
        ...


class NoReviews:
    """Nobody goes over the conversation."""

    def __init__(self, session: "Session", kit: KitMaker) -> None:
        del session, kit

    def turn_ended(self, reason: StopReason) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""

    async def wait_until_over(self) -> None:
        """Return at once."""


class ReviewedTurns(TurnQueue):
    """The turns of one session, and the reviews between them."""

    def __init__(self, reviews: Reviews) -> None:
        super().__init__()
        self._reviews = reviews

    def admit(self) -> Ticket:
        """Take a place at the end of the queue; a review has had its time."""
        self._reviews.cancel()
        return super().admit()

    def cancel_all(self) -> None:
        """Cancel every prompt, and a review."""
        self._reviews.cancel()
        super().cancel_all()

    async def wait_until_idle(self) -> None:
        """Wait until every prompt admitted so far is over, and the review that was cancelled."""
        await super().wait_until_idle()
        await self._reviews.wait_until_over()

    async def run(self, ticket: Ticket, screen: Screen, work: Work) -> StopReason:
        """Do a ticket's work when its place has come, with nothing else going on.

        Raises:
            TurnError: as the work does, unless it was cancelled.
        """
        await self._reviews.wait_until_over()
        reason = await super().run(ticket, screen, work)
        if self.is_empty:
            self._reviews.turn_ended(reason)
        return reason


def reviewed(session: "Session", kit: KitMaker) -> Reviewed:
    """Return a session as a review sees it."""
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
