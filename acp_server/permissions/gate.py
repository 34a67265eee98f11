"""The gate that every effect of every tool passes, and the questions it puts to the user.

Fails closed: what cannot be asked is refused. One question of a session is open at a time, in the
order of the calls.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, assert_never

import anyio

from acp_server.permissions.effects import Effect
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import Allow, Ask, Refuse, decide
from acp_server.turn.events import CallContent, CallKind, Location

REJECTED = "the user rejected this; do not try it another way, go on without it or ask what to do"


@dataclass(frozen=True, slots=True)
class Question:
    """A call that waits for leave, with all that the user needs to see to decide."""

    call_id: str
    effect: Effect
    title: str
    kind: CallKind
    content: tuple[CallContent, ...] = ()
    locations: tuple[Location, ...] = ()


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer that the user may give."""

    id: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]


@dataclass(frozen=True, slots=True)
class Refusal:
    """It may not be done; `reason` is for the model."""

    reason: str


class Asker(Protocol):
    """Puts questions to the user."""

    async def ask(self, question: Question, choices: Sequence[Choice]) -> str | None:
        """Return the id of the choice; None when the user cancelled the turn instead.

        Raises:
            AskingError: nobody can be asked.
        """
        ...


class AskingError(Exception):
    """The question did not reach the user, or no answer came back."""


class Gate(Protocol):
    """What tools ask before they do anything."""

    async def pass_through(self, question: Question) -> Refusal | None:
        """Return None when the effect may be had, at once or after the user said so."""
        ...


ONCE = (
    Choice("allow_once", "Allow once", "allow_once"),
    Choice("reject_once", "Reject", "reject_once"),
)


class PermissionGate:
    """The gate of one session."""

    def __init__(
        self, mode: Callable[[], Mode], asker: Asker, cancel_turn: Callable[[], None]
    ) -> None:
        self._mode = mode
        self._asker = asker
        self._cancel_turn = cancel_turn
        self._line = anyio.Lock()

    async def pass_through(self, question: Question) -> Refusal | None:
        """Decide by the policy, and ask the user where it says so."""
        decision = decide(question.effect, self._mode())
        if isinstance(decision, Ask):
            async with self._line:
                decision = decide(question.effect, self._mode())  # it may have changed meanwhile
                return await self._settle(decision, question)
        return await self._settle(decision, question)

    async def _settle(self, decision: Allow | Ask | Refuse, question: Question) -> Refusal | None:
        match decision:
            case Allow():
                return None
            case Refuse():
                return Refusal(decision.reason)
            case Ask():
                return await self._asked(question)
            case _:
                assert_never(decision)

    async def _asked(self, question: Question) -> Refusal | None:
        try:
            answer = await self._asker.ask(question, ONCE)
        except AskingError as error:
            return Refusal(f"this needs the user's leave, and they could not be asked: {error}")
        if answer is None:
            self._cancel_turn()
            await anyio.sleep_forever()  # the cancellation is on its way
        return None if answer == "allow_once" else Refusal(REJECTED)
