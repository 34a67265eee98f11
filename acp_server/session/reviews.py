"""Somebody who goes over a conversation between its turns, for what is worth keeping: the port.

A review never changes the conversation and never stands in the way of a turn: the next prompt ends
it at once.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from acp_server.permissions.modes import Mode
from acp_server.session.bulletin import Bulletin
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import Kit, Spent
from acp_server.turn.ports import StopReason


@dataclass(frozen=True, slots=True)
class Reviewed:
    """What a review sees of a session."""

    session_id: str
    conversation: Conversation
    spent: Spent
    """What it uses is added here."""
    bulletin: Bulletin
    mode: Callable[[], Mode]
    kit: Callable[[], Awaitable[Kit]]
    """Returns what the next turn would work with."""
    keep_facts: Callable[[], None]
    """Has what was used written down."""


class Reviews(Protocol):
    """The reviews of one session."""

    def turn_ended(self, reason: StopReason) -> None:
        """Note that a turn is over and no other waits; may begin a review in the background."""
        ...

    def cancel(self) -> None:
        """End a review that runs, before it changes anything more. Nothing is torn."""
        ...

    async def wait_until_over(self) -> None:
        """Wait until a cancelled review has ended; not for long, it can do no more harm."""
        ...


class NoReviews:
    """Nobody goes over the conversation."""

    def __init__(self, reviewed: Reviewed) -> None:
        del reviewed

    def turn_ended(self, reason: StopReason) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""

    async def wait_until_over(self) -> None:
        """Return at once."""
