"""What a turn needs of the world: a model to ask, and somebody to tell.

Both directions are awaited calls, not callbacks and not generators: whoever is slow holds the
stream back, and nothing is left suspended half-way when a turn is cancelled.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from acp_server.turn.conversation import Message
from acp_server.turn.events import Event

StopReason = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]
"""Why a turn ended, in the words of the field."""

ModelStop = Literal["end_turn", "max_tokens", "refusal"]
"""Why a model stopped by itself."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of the model: everything said so far, the newest user message last."""

    messages: Sequence[Message]


@dataclass(frozen=True, slots=True)
class TextDelta:
    """The model says more."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """The model thinks more."""

    text: str


ModelEvent = TextDelta | ThinkingDelta
Receive = Callable[[ModelEvent], Awaitable[None]]


class Model(Protocol):
    """A language model."""

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Stream the answer into `receive`, in order, and return why it ended.

        Cancelling must be possible at every await, and leaves nothing running.

        Raises:
            TurnError: the model cannot be asked, or failed; what was received stands.
        """
        ...


class Sink(Protocol):
    """Where a turn's events go."""

    async def emit(self, event: Event) -> None:
        """Show one event; waits while the user's side is slow."""
        ...
