"""Whether a review of one session is due, the quiet it waits for, its end when somebody prompts.

A review that was cancelled stays due: the next one looks at everything since the last that ended.
Knows not how a conversation is reviewed: that is imported when it is time for the first.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import anyio

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
MOST_DOUBLINGS = 4
"""How often the wait for quiet doubles.

80 seconds by default: a provider's cache keeps the conversation for 5 minutes, and a review has to
read it from there.
"""

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
    wait_seconds: float = 5.0
    """How long nobody prompts before one begins: the model is paid even if it is cancelled."""
    wait: Callable[[float], Awaitable[None]] = anyio.sleep
    """Returns after so many seconds."""
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
        self._vain_count = 0
        """How many reviews in a row were cancelled behind their wait."""

    def turn_ended(self, reason: StopReason) -> None:
        """Have a review wait for quiet, if it is time for one."""
        self._tally.look()
        is_due = reason == "end_turn" and self._tally.is_due(self._rules.intervals)
        if is_due and self._is_wanted() and self._is_over.is_set():
            self._scope, self._is_over = anyio.CancelScope(), anyio.Event()
            self._rules.spawn(self._run)

    def cancel(self) -> None:
        """End a review that runs or waits."""
        self._scope.cancel()

    async def wait_until_over(self) -> None:
        """Wait for the end of a cancelled review; it is shut off already, so not for long."""
        with anyio.move_on_after(GRACE_SECONDS):
            await self._is_over.wait()

    def _is_wanted(self) -> bool:
        is_allowed = self._rules.writes != "off" and self._reviewed.mode() != "plan"
        return is_allowed and self._rules.is_attended()

    async def _run(self) -> None:
        scope, is_over = self._scope, self._is_over
        try:
            with scope:
                # A new task runs up to its first wait, cancelled or not: here.
                await self._rules.wait(self._rules.wait_seconds * self._patience())
                if self._is_wanted():  # the mode may be another one by now
                    await self._review(scope)
        finally:
            is_over.set()

    async def _review(self, scope: anyio.CancelScope) -> None:
        self._vain_count += 1
        await self._rules.review(self._rules, self._reviewed, scope)
        self._vain_count = 0
        self._tally.reset()

    def _patience(self) -> int:
        """Return how many times as long to wait: who came too early waits twice as long."""
        return 2 ** min(self._vain_count, MOST_DOUBLINGS)
