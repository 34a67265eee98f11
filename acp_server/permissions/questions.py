"""Permission questions: their content, the possible answers, and the queue of questions."""

from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import anyio

from acp_server.permissions.scopes import (
    ConfinedCommandsScope,
    NetworkScope,
    Scope,
    SkillVariablesScope,
    describe_scope,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.events import CallContent, CallKind, Location

if TYPE_CHECKING:
    from acp_server.permissions.effects import Effect
    from acp_server.permissions.policy import Ask
    from acp_server.permissions.shielded_files import Shield

PermissionChoiceId = Literal[
    "allow_once",
    "allow_session",
    "allow_workspace",
    "allow_exactly",
    "allow_checks",
    "allow_confined",
    "reject_once",
    "reject_workspace",
    "ask_per_host",
    "accept_and_ask",
    "accept_edits",
    "keep_planning",
]


def _ignore_answer(answer: PermissionChoiceId) -> None:
    del answer


def _ignore_shield(shield: "Shield") -> None:
    del shield


@frozen_dataclass
class PermissionQuestion:
    """Permission request for one call, with everything the user needs to see to decide."""

    call_id: str
    effect: "Effect"
    title: str
    kind: CallKind
    content: tuple[CallContent, ...] = ()
    locations: tuple[Location, ...] = ()
    reason: str = ""
    """Why the user is asked, in sentences without the last full stop; empty if it is obvious."""
    parent_id: str = ""
    """The delegating call, if a sub-agent asks."""
    is_awaited: bool = True
    """Whether the call waits for the answer, so that a dismissal ends it with its turn."""
    note_shield: Callable[["Shield"], None] = field(default=_ignore_shield, compare=False)
    """Called with the files that must be kept from the command, before it is authorized."""
    note_answer: Callable[[PermissionChoiceId], None] = field(default=_ignore_answer, compare=False)
    """Called with an answer that allows it, before it is authorized."""


@frozen_dataclass
class PermissionChoice:
    """One answer that the user may choose."""

    id: PermissionChoiceId
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]
    scope: Scope | None = None
    """What the answer holds for; None if for this question alone."""


class AskingError(Exception):
    """The question did not reach the user, or no answer came back."""


class PermissionAsker(Protocol):
    """Asks the user permission questions."""

    async def ask(
        self, question: PermissionQuestion, choices: Sequence[PermissionChoice]
    ) -> PermissionChoiceId | None:
        """Return the id of the chosen answer; None if the user cancelled the turn instead.

        Raises:
            AskingError: the user cannot be asked.
        """
        ...


def choices_for(decision: "Ask", root: Path) -> tuple[PermissionChoice, ...]:
    """Return the answers to offer.

    "Always" answers are offered only if there is a scope, so that their effect is clear.
    """
    is_lasting = isinstance(decision.scope, SkillVariablesScope)
    once_name = "Allow until this turn ends" if is_lasting else "Allow once"
    once = PermissionChoice("allow_once", once_name, "allow_once")
    reject = PermissionChoice("reject_once", "Reject", "reject_once")
    scope, exact, checks = decision.scope, decision.exact_scope, decision.checks_scope
    confined = () if decision.shield is None else (ALLOW_CONFINED,)
    if scope is None:
        return (once, *confined, reject)
    text = describe_scope(scope, root)
    choices = [
        once,
        PermissionChoice("allow_session", f"Allow {text} for this session", "allow_always", scope),
    ]
    if isinstance(scope, NetworkScope):
        choices.insert(1, ASK_PER_HOST)
    if exact is not None:
        name = f"Always allow {describe_scope(exact, root)} in this workspace"
        choices.append(PermissionChoice("allow_exactly", name, "allow_always", exact))
    name = f"Always allow {text} in this workspace"
    choices.append(PermissionChoice("allow_workspace", name, "allow_always", scope))
    if checks is not None:
        name = f"Always allow {describe_scope(checks, root)} in this workspace"
        choices.append(PermissionChoice("allow_checks", name, "allow_always", checks))
    name = f"Always reject {text} in this workspace"
    return (
        *choices,
        *confined,
        reject,
        PermissionChoice("reject_workspace", name, "reject_always", scope),
    )


ASK_PER_HOST = PermissionChoice(
    "ask_per_host", "Ask for each host instead, in this session", "allow_always"
)
ALLOW_CONFINED = PermissionChoice(
    "allow_confined",
    f"Allow {describe_scope(ConfinedCommandsScope(), Path())} for this session",
    "allow_always",
    ConfinedCommandsScope(),
)
PLAN_CHOICES = (
    PermissionChoice("accept_and_ask", "Accept and ask before edits", "allow_once"),
    PermissionChoice(
        "accept_edits", "Accept and edit without asking in this session", "allow_always"
    ),
    PermissionChoice("keep_planning", "Keep planning", "reject_once"),
)
"""The answers to a plan."""
RESTORE_CHOICES = (
    PermissionChoice("allow_once", "Restore", "allow_once"),
    PermissionChoice("reject_once", "Cancel", "reject_once"),
)
"""The answers to a restoration, which loses what it replaces: none of them lasts."""


class QuestionQueue:
    """Queue that lets one question be asked at a time, in the order in which the calls were made.

    A call enters when it starts to run. It leaves when it has asked, when it is clear that it need
    not ask, or when it ends.
    """

    def __init__(self) -> None:
        self._waiting: OrderedDict[str, anyio.Event] = OrderedDict()
        self._asking = anyio.Lock()  # two calls may share one id, and so one place in the queue

    def enter(self, call_id: str) -> None:
        """Enter the queue at the end, unless the call is in it already."""
        # Keep an existing place: entering again must not move the call to the end.
        self._waiting.setdefault(call_id, anyio.Event())
        self._wake_first()

    def leave(self, call_id: str) -> None:
        """Leave the queue, if the call is in it."""
        if self._waiting.pop(call_id, None) is not None:
            self._wake_first()

    @asynccontextmanager
    async def wait_for_turn(self, call_id: str) -> AsyncGenerator[None]:
        """Wait until it is this call's turn to ask; enter the queue if necessary."""
        self.enter(call_id)
        try:
            await self._waiting[call_id].wait()
            # Two calls with the same id share one event, so both may wake up here.
            async with self._asking:
                yield
        finally:
            # Also on cancellation: a call that stayed in the queue would block all behind it.
            self.leave(call_id)

    def _wake_first(self) -> None:
        if self._waiting:
            # Only the first: setting an event twice is harmless, waking others would break the
            # order.
            next(iter(self._waiting.values())).set()
