"""User input while a turn runs: it joins that turn, or runs after it as its own prompt.

A prompt always keeps its place in the queue. If no turn has taken it when its place is reached, it
runs as an ordinary prompt. So no prompt is lost, and none is answered twice.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from acp_server.session.turn_queue import QueuedPrompt
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import PromptPart, Text, ToolResult, UserMessage
from acp_server.turn.errors import TurnError
from acp_server.turn.ports import StopReason, TurnSink

BusyMode = Literal["steer", "queue", "interrupt"]
"""How to treat a prompt during a turn: join the turn, run after it, or replace it."""

BUSY_MODES: dict[str, BusyMode] = {"/steer": "steer", "/queue": "queue"}


@dataclass(slots=True)
class _OfferedPrompt:
    queued: QueuedPrompt
    message: UserMessage
    is_taken: bool = False


class Steering:
    """Prompts of one session that its running turn may take."""

    def __init__(self) -> None:
        self._offers: list[_OfferedPrompt] = []
        self._turn_ends: dict[QueuedPrompt, StopReason | TurnError] = {}

    def offer(self, queued_prompt: QueuedPrompt, message: UserMessage) -> None:
        """Offer a queued prompt to the running turn."""
        self._offers.append(_OfferedPrompt(queued_prompt, message))

    def take(self) -> Sequence[UserMessage]:
        """Return the prompts offered since the last call, without cancelled ones."""
        # Marked without an await in between: a prompt is taken by one turn, completely or not.
        waiting = [offer for offer in self._offers if not _is_unavailable(offer)]
        for offer in waiting:
            offer.is_taken = True
        return [offer.message for offer in waiting]

    @property
    def is_empty(self) -> bool:
        """Whether no prompt is waiting."""
        return all(_is_unavailable(offer) for offer in self._offers)

    def finish(self, end: StopReason | TurnError) -> None:
        """Note how a turn ended, for the prompts that it took; the others stay queued."""
        # Taken prompts stay queued until their place comes and read their result with `take_end`.
        self._turn_ends.update({offer.queued: end for offer in self._offers if offer.is_taken})
        self._offers = [offer for offer in self._offers if not offer.is_taken]

    def take_end(self, queued_prompt: QueuedPrompt) -> StopReason | TurnError | None:
        """Return how the turn that took a prompt ended, once; None if no turn took it."""
        # The prompt runs by itself now; a turn must not take it any more.
        self._offers = [offer for offer in self._offers if offer.queued is not queued_prompt]
        return self._turn_ends.pop(queued_prompt, None)


def _is_unavailable(offer: _OfferedPrompt) -> bool:
    return offer.is_taken or offer.queued.is_cancelled.is_set()


@frozen_dataclass
class MidTurnInputSource:
    """Gives a running turn the prompts that arrived meanwhile."""

    steering: Steering
    enrich: Callable[[UserMessage, TurnSink], Awaitable[UserMessage]]
    """Enriches a prompt, with linked files for example."""
    record: Callable[[UserMessage], None]
    """Records a prompt as the user sent it."""

    @property
    def is_empty(self) -> bool:
        """Whether no prompt is waiting."""
        return self.steering.is_empty

    async def take(self, sink: TurnSink) -> Sequence[PromptPart]:
        """Return the parts of the waiting prompts, for the model."""
        parts: list[PromptPart] = []
        for message in self.steering.take():
            self.record(message)  # before the await: a cancel must not lose a prompt that was taken
            parts += prompt_parts(await self.enrich(message, sink))
        return parts


def prompt_parts(message: UserMessage) -> tuple[PromptPart, ...]:
    """Return the parts of a message that come from the user."""
    return tuple(part for part in message.parts if not isinstance(part, ToolResult))


def turn_result(end: StopReason | TurnError) -> StopReason:
    """Return a turn's stop reason, for a prompt that the turn took.

    Raises:
        TurnError: the turn ended with this error.
    """
    if isinstance(end, TurnError):
        raise end
    return end


def parse_busy_mode(message: UserMessage, default_mode: BusyMode) -> tuple[BusyMode, UserMessage]:
    """Parse a leading `/steer` or `/queue`; return the mode and the prompt without that word.

    >>> parse_busy_mode(UserMessage((Text("/queue  then the tests"),)), "steer")
    ('queue', UserMessage(parts=(Text(text='then the tests'),)))
    """
    first = message.parts[0] if message.parts else None
    if not isinstance(first, Text):
        return default_mode, message
    word, *rest = first.text.lstrip().split(maxsplit=1)[:2] or [""]
    # Without a text it stays a command, and the answer explains how to use it.
    if word not in BUSY_MODES or not rest:
        return default_mode, message
    return BUSY_MODES[word], replace(message, parts=(Text(rest[0]), *message.parts[1:]))
