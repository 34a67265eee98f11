"""The gate's questions: what a user is asked, which answers there are, and in which order."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import anyio

from acp_server.frozen import frozen
from acp_server.permissions.scopes import Scope, described
from acp_server.turn.events import CallContent, CallKind, Location

if TYPE_CHECKING:
    from acp_server.permissions.effects import Effect

ChoiceId = Literal[
    "allow_once",
    "allow_session",
    "allow_workspace",
    "reject_once",
    "reject_workspace",
    "accept_and_ask",
    "accept_edits",
    "keep_planning",
]


@frozen
class Question:
    """A call that waits for leave, with all that the user needs to see to decide."""

    call_id: str
    effect: "Effect"
    title: str
    kind: CallKind
    content: tuple[CallContent, ...] = ()
    locations: tuple[Location, ...] = ()
    reason: str = ""
    """Why it is asked, as a phrase for the user; empty where that goes without saying."""
    parent_id: str = ""
    """The call that delegated, if a sub-agent asks."""


@frozen
class Choice:
    """One answer that the user may give."""

    id: ChoiceId
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class AskingError(Exception):
    """The question did not reach the user, or no answer came back."""


class Asker(Protocol):
    """Puts questions to the user."""

    async def ask(self, question: Question, choices: Sequence[Choice]) -> ChoiceId | None:
        """Return the id of the choice; None when the user cancelled the turn instead.

        Raises:
            AskingError: nobody can be asked.
        """
        ...


def choices_for(scope: Scope | None, root: Path) -> tuple[Choice, ...]:
    """Return the answers to offer; those for all time only where it is clear what they cover."""
    once = Choice("allow_once", "Allow once", "allow_once")
    reject = Choice("reject_once", "Reject", "reject_once")
    if scope is None:
        return (once, reject)
    covered = described(scope, root)
    return (
        once,
        Choice("allow_session", f"Allow {covered} for this session", "allow_always"),
        Choice("allow_workspace", f"Always allow {covered} (kept)", "allow_always"),
        reject,
        Choice("reject_workspace", f"Always reject {covered} (kept)", "reject_always"),
    )


PLAN_CHOICES = (
    Choice("accept_and_ask", "Accept, ask before edits", "allow_once"),
    Choice("accept_edits", "Accept, edits unasked", "allow_always"),
    Choice("keep_planning", "Keep planning", "reject_once"),
)
"""The answers to a plan."""


class QuestionLine:
    """One question at a time, in the order in which the calls were made.

    A call takes its place when it begins to run, and gives it up when it has asked, when it is
    clear that it need not ask, or when it ends.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, anyio.Event] = OrderedDict()
        self._asking = anyio.Lock()  # also for two calls to which a model gave the same id

    def join(self, call_id: str) -> None:
        """Take a place at the end, unless one is held."""
        self._waiting.setdefault(call_id, anyio.Event())
        self._wake_first()

    def leave(self, call_id: str) -> None:
        """Give up the place, if it is still held."""
        if self._waiting.pop(call_id, None) is not None:
            self._wake_first()

    @asynccontextmanager
    async def at_the_front(self, call_id: str) -> AsyncGenerator[None]:
        """Wait until it is this call's turn to ask; a call without a place joins now."""
        self.join(call_id)
        try:
            await self._waiting[call_id].wait()
            async with self._asking:
                yield
        finally:
            self.leave(call_id)

    def _wake_first(self) -> None:
        if self._waiting:
            next(iter(self._waiting.values())).set()
