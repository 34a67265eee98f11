"""What the user says while a turn runs: it reaches the model in that turn, or runs behind it.

A prompt keeps its place in the queue whatever becomes of it: what no turn has taken when its place
comes is an ordinary prompt. So nothing is lost, and nothing is said twice.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acp_server.frozen import frozen
from acp_server.session.turns import Ticket
from acp_server.turn.conversation import PromptPart, Text, ToolResult, UserMessage
from acp_server.turn.errors import TurnError
from acp_server.turn.ports import Sink, StopReason

Manner = Literal["steer", "queue", "interrupt"]
"""What becomes of a prompt during a turn: part of that, run behind it, or run in its place."""

MANNERS: dict[str, Manner] = {"/steer": "steer", "/queue": "queue"}


@dataclass(slots=True)
class _Offer:
    ticket: Ticket
    message: UserMessage
    is_taken: bool = False


class Steering:
    """The prompts of one session that its running turn may take."""

    def __init__(self) -> None:
        self._offers: list[_Offer] = []
        self._ends: dict[Ticket, StopReason | TurnError] = {}

    def offer(self, ticket: Ticket, message: UserMessage) -> None:
        """Let the running turn take a prompt that waits."""
        self._offers.append(_Offer(ticket, message))

    def take(self) -> Sequence[UserMessage]:
        """Return what was said since the last time; cancelled prompts are not."""
        waiting = [offer for offer in self._offers if not _is_gone(offer)]
        for offer in waiting:
            offer.is_taken = True
        return [offer.message for offer in waiting]

    @property
    def is_empty(self) -> bool:
        """Whether nobody waits."""
        return all(_is_gone(offer) for offer in self._offers)

    def finish(self, end: StopReason | TurnError) -> None:
        """Note how a turn ended, for the prompts that it has taken; the others are on their own."""
        self._ends.update({offer.ticket: end for offer in self._offers if offer.is_taken})
        self._offers = [offer for offer in self._offers if not offer.is_taken]

    def end_of(self, ticket: Ticket) -> StopReason | TurnError | None:
        """Return how the turn ended that has taken a prompt, once; None if it is its own turn."""
        self._offers = [offer for offer in self._offers if offer.ticket is not ticket]
        return self._ends.pop(ticket, None)


def _is_gone(offer: _Offer) -> bool:
    return offer.is_taken or offer.ticket.is_cancelled.is_set()


@frozen
class TurnAsides:
    """What a running turn asks for what was said meanwhile."""

    steering: Steering
    completed: Callable[[UserMessage, Sink], Awaitable[UserMessage]]
    """Adds the files that a prompt points at."""
    note: Callable[[UserMessage], None]
    """Keeps a prompt as the user sent it."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing was said."""
        return self.steering.is_empty

    async def take(self, sink: Sink) -> Sequence[PromptPart]:
        """Return what was said, for the model."""
        parts: list[PromptPart] = []
        for message in self.steering.take():
            self.note(message)
            parts += prompt_parts(await self.completed(message, sink))
        return parts


def prompt_parts(message: UserMessage) -> tuple[PromptPart, ...]:
    """Return what the user said in a message."""
    return tuple(part for part in message.parts if not isinstance(part, ToolResult))


def shared(end: StopReason | TurnError) -> StopReason:
    """Return how a turn ended, for a prompt that it has taken.

    Raises:
        TurnError: so it ended.
    """
    if isinstance(end, TurnError):
        raise end
    return end


def addressed(message: UserMessage, usual: Manner) -> tuple[Manner, UserMessage]:
    """Return what is to become of a prompt, and the prompt without the word that says so.

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
