"""Whether a review of one session is due, and its end when somebody prompts.

Knows not how a conversation is reviewed: that is imported when it is time for the first.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import anyio
from anyio import lowlevel

from acp_server.evolution.tally import Intervals, Tally
from acp_server.frozen import frozen
from acp_server.session.reviews import Reviewed
from acp_server.session.watch import Task
from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import Outcome, StopReason, Toolbox

if TYPE_CHECKING:
    from acp_server.evolution.gate import UnaskedGate

GRACE_SECONDS = 0.2
"""How long the next prompt waits for the end of a review that it has cancelled."""

ReviewWrites = Literal["apply", "propose", "off"]


class Bench(Protocol):
    """The tools of one pass, and what came of them."""

    @property
    def toolbox(self) -> Toolbox:
        """The tools for memory and skills, as far as the session has them."""
        ...

    def note(self, call: ToolCall, outcome: Outcome) -> None:
        """Take notice of what a call led to."""
        ...

    def note_overlaps(self, overlaps: Sequence[str]) -> None:
        """Keep for the curator which skills overlap. Blocks.

        Raises:
            OSError: it cannot be written.
        """
        ...

    def changes(self) -> Sequence[str]:
        """Return what was changed, a phrase for each thing, and last how it is undone."""
        ...


@frozen
class ReviewRules:
    """What the configuration says about reviews, and where they run."""

    skills: Path
    """The user's own folder of skills."""
    proposals: Path
    """The folder for changes that the user is to decide about."""
    spawn: Callable[[Task], None]
    """Runs a task in the background."""
    bench: "Callable[[Path, UnaskedGate], Awaitable[Bench]]"
    """Makes the tools of a pass over a session in a folder."""
    review: "Callable[[ReviewRules, Reviewed, anyio.CancelScope], Awaitable[None]]"
    """Reviews a conversation (`review.run_review`)."""
    writes: ReviewWrites = "apply"
    intervals: Intervals = field(default_factory=Intervals)
    is_attended: Callable[[], bool] = lambda: True
    """Whether a person is at the other end; without one, nothing is reviewed."""


class SessionReviews:
    """The reviews of one session."""

    def __init__(self, rules: ReviewRules, reviewed: Reviewed) -> None:
        """Begin to count."""
        self._rules = rules
        self._reviewed = reviewed
        self._tally = Tally(reviewed.conversation)
        self._scope = anyio.CancelScope()
        self._is_over = anyio.Event()
        self._is_over.set()

    def turn_ended(self, reason: StopReason) -> None:
        """Begin a review, if it is time for one."""
        self._tally.look()
        is_wanted = self._rules.writes != "off" and self._reviewed.mode() != "plan"
        is_due = reason == "end_turn" and self._tally.is_due(self._rules.intervals)
        if is_wanted and is_due and self._rules.is_attended() and self._is_over.is_set():
            self._scope, self._is_over = anyio.CancelScope(), anyio.Event()
            self._rules.spawn(self._run)

    def cancel(self) -> None:
        """End a review that runs."""
        self._scope.cancel()

    async def wait_until_over(self) -> None:
        """Wait for the end of a cancelled review; it is shut off already, so not for long."""
        with anyio.move_on_after(GRACE_SECONDS):
            await self._is_over.wait()

    async def _run(self) -> None:
        scope, is_over = self._scope, self._is_over
        try:
            with scope:
                # A new task runs up to its first wait, cancelled or not.
                await lowlevel.checkpoint()
                await self._rules.review(self._rules, self._reviewed, scope)
                self._tally.reset()
        finally:
            is_over.set()
