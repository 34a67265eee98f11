"""The review port: goes over a conversation between turns to find knowledge worth keeping.

A review never changes the conversation and never delays a turn: the next prompt ends it at once.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

from acp_server.session.context import SessionContext
from acp_server.turn.context import TurnContext
from acp_server.turn.ports import StopReason

BuildTurnContext = Callable[[], Awaitable[TurnContext]]
"""Returns the context that the session's next turn would run with."""


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

    def __init__(self, context: SessionContext, build_turn_context: BuildTurnContext) -> None:
        del context, build_turn_context

    def on_turn_end(self, reason: StopReason) -> None:
        """Do nothing."""

    def cancel(self) -> None:
        """Do nothing."""

    async def wait_until_closed(self) -> None:
        """Return immediately."""
