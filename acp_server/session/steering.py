"""User input while a turn runs: it joins that turn, or runs after it as its own prompt.

A prompt always keeps its place in the queue. If no turn has taken it when its place is reached, it
runs as an ordinary prompt. So no prompt is lost, and none is answered twice.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acp_server.session.turn_queue import Ticket
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.conversation import PromptPart, Text, ToolResult, UserMessage
from acp_server.turn.errors import TurnError
from acp_server.turn.ports import Sink, StopReason

Manner = Literal["steer", "queue", "interrupt"]
"""How to treat a prompt during a turn: join the turn, run after it, or replace it."""

MANNERS: dict[str, Manner] = {"/steer": "steer", "/queue": "queue"}


@dataclass(slots=True)
class _Offer:
    ticket: Ticket
    message: UserMessage
    is_taken: bool = False


class Steering:
    """Prompts of one session that its running turn may take."""

    def __init__(self) -> None:
        self._offers: list[_Offer] = []
        self._ends: dict[Ticket, StopReason | TurnError] = {}

    def offer(self, ticket: Ticket, message: UserMessage) -> None:
        """Offer a queued prompt to the running turn."""
        self._offers.append(_Offer(ticket, message))

    def take(self) -> Sequence[UserMessage]:
        """Return the prompts offered since the last call, without cancelled ones."""
        # Marked without an await in between: a prompt is taken by one turn, completely or not.
        waiting = [offer for offer in self._offers if not _is_gone(offer)]
        for offer in waiting:
            offer.is_taken = True
        return [offer.message for offer in waiting]

    @property
    def is_empty(self) -> bool:
        """Whether no prompt is waiting."""
        return all(_is_gone(offer) for offer in self._offers)

    def finish(self, end: StopReason | TurnError) -> None:
        """Note how a turn ended, for the prompts that it took; the others stay queued."""
        # Taken prompts stay queued until their place comes and read their result with `end_of`.
        self._ends.update({offer.ticket: end for offer in self._offers if offer.is_taken})
        self._offers = [offer for offer in self._offers if not offer.is_taken]

    def end_of(self, ticket: Ticket) -> StopReason | TurnError | None:
        """Return how the turn that took a prompt ended, once; None if no turn took it."""
        # The prompt runs by itself now; a turn must not take it any more.
        self._offers = [offer for offer in self._offers if offer.ticket is not ticket]
        return self._ends.pop(ticket, None)


def _is_gone(offer: _Offer) -> bool:
    return offer.is_taken or offer.ticket.is_cancelled.is_set()


@frozen
class TurnAsides:
    """Gives a running turn the prompts that arrived meanwhile."""

    steering: Steering
    completed: Callable[[UserMessage, Sink], Awaitable[UserMessage]]
    """Enriches a prompt, with linked files for example."""
    note: Callable[[UserMessage], None]
    """Records a prompt as the user sent it."""

    @property
    def is_empty(self) -> bool:
        """Whether no prompt is waiting."""
        return self.steering.is_empty

    async def take(self, sink: Sink) -> Sequence[PromptPart]:
        """Return the parts of the waiting prompts, for the model."""
        parts: list[PromptPart] = []
        for message in self.steering.take():
            self.note(message)  # before the await: a cancel must not lose a prompt that was taken
            parts += prompt_parts(await self.completed(message, sink))
        return parts


def prompt_parts(message: UserMessage) -> tuple[PromptPart, ...]:
    """Return the parts of a message that come from the user."""
    return tuple(part for part in message.parts if not isinstance(part, ToolResult))


def shared(end: StopReason | TurnError) -> StopReason:
    """Return a turn's stop reason, for a prompt that the turn took.

    Raises:
        TurnError: the turn ended with this error.
    """
    if isinstance(end, TurnError):
        raise end
    return end


def addressed(message: UserMessage, usual: Manner) -> tuple[Manner, UserMessage]:
    """Parse a leading `/steer` or `/queue`; return the mode and the prompt without that word.

    >>> addressed(UserMessage((Text("/queue  then the tests"),)), "steer")
    ('queue', UserMessage(parts=(Text(text='then the tests'),)))
    """
    first = message.parts[0] if message.parts else None
    if not isinstance(first, Text):
        return usual, message
    word, *rest = first.text.lstrip().split(maxsplit=1)[:2] or [""]
    if word not in MANNERS or not rest:
        return usual, message
    return MANNERS[word], replace(message, parts=(Text(rest[0]), *message.parts[1:]))
