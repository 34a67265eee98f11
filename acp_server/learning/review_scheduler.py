"""Schedules the reviews of one session: when one is due, how long it waits, when it is cancelled.

A cancelled review stays due: the next one covers everything since the last completed review. How a
conversation is reviewed is imported only when the first review starts.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

import anyio

from acp_server.learning.review_counters import ReviewCounters, ReviewIntervals
from acp_server.permissions.modes import Mode
from acp_server.session.ports.reviews import BuildTurnContext
from acp_server.session.prompting.file_watch import TaskFunction
from acp_server.session.user_notices import UserNotices
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Conversation, ToolCall
from acp_server.turn.ports import StopReason, Toolbox, ToolOutcome
from acp_server.turn.usage_totals import UsageTotals

if TYPE_CHECKING:
    from acp_server.learning.background_gate import BackgroundGate

GRACE_SECONDS = 0.2
"""How long the next prompt waits for a review that it has cancelled to end."""
MAX_DOUBLINGS = 4
"""How often the wait for quiet doubles.

The limit is 80 seconds by default: a provider caches the conversation for 5 minutes, and a review
must read it from there.
"""

ReviewWrites = Literal["apply", "propose", "off"]


class ReviewToolsPort(Protocol):
    """The tools of one background run, and the changes made with them."""

    @property
    def toolbox(self) -> Toolbox:
        """The memory and skill tools, as far as the session has them."""
        ...

    def record_outcome(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Record the outcome of a call."""
        ...

    def save_overlaps(self, overlaps: Sequence[str]) -> None:
        """Store for the curator which skills overlap. Blocks.

        Raises:
            OSError: the file cannot be written.
        """
        ...

    def describe_changes(self) -> Sequence[str]:
        """Return one phrase for each kind of change, then one that says how to undo them."""
        ...


@frozen_dataclass
class ReviewConfig:
    """The settings and dependencies of reviews."""

    skills_directory: Path
    """The user's own skill directory."""
    proposals_directory: Path
    """The directory for changes that the user decides about."""
    spawn: Callable[[TaskFunction], None]
    """Runs a task in the background."""
    build_tools: "Callable[[Path, BackgroundGate], Awaitable[ReviewToolsPort]]"
    """Builds the tools of a run over a session in a workspace."""
    review: "Callable[[ReviewConfig, ReviewContext, anyio.CancelScope], Awaitable[None]]"
    """Reviews a conversation (`review.run_review`)."""
    writes: ReviewWrites = "apply"
    intervals: ReviewIntervals = field(default_factory=ReviewIntervals)
    wait_seconds: float = 5.0
    """Quiet time before a review starts: the model is paid for even if the review is cancelled."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    """Sleeps for a number of seconds."""
    is_attended: Callable[[], bool] = lambda: True
    """Whether a person uses the client; without one, nothing is reviewed."""


@frozen_dataclass
class ReviewContext:
    """The parts of a session that a review can access."""

    session_id: str
    workspace: Path
    """The session's directory."""
    conversation: Conversation
    totals: UsageTotals
    """The review's usage is added here."""
    notices: UserNotices
    mode: Callable[[], Mode]
    context: BuildTurnContext
    save_facts: Callable[[], None]
    """Stores the session's facts, including the usage."""


class ReviewScheduler:
    """The review scheduler of one session."""

    def __init__(self, config: ReviewConfig, review_context: ReviewContext) -> None:
        """Start counting."""
        self._config = config
        self._review_context = review_context
        self._counters = ReviewCounters(review_context.conversation)
        self._scope = anyio.CancelScope()
        self._has_ended = anyio.Event()
        self._has_ended.set()
        self._cancelled_in_a_row = 0
        """Reviews in a row that were cancelled after their wait."""

    def on_turn_end(self, reason: StopReason) -> None:
        """Schedule a review if one is due."""
        self._counters.count_new_messages()
        is_due = reason == "end_turn" and self._counters.is_due(self._config.intervals)
        # One review at a time: a cancelled one may still be ending.
        if is_due and self._is_allowed() and self._has_ended.is_set():
            self._scope, self._has_ended = anyio.CancelScope(), anyio.Event()
            self._config.spawn(self._run)

    def cancel(self) -> None:
        """Cancel a running or waiting review."""
        self._scope.cancel()

    async def wait_until_closed(self) -> None:
        """Wait briefly for a cancelled review to end; its gate already refuses changes."""
        with anyio.move_on_after(GRACE_SECONDS):
            await self._has_ended.wait()

    def _is_allowed(self) -> bool:
        is_allowed = self._config.writes != "off" and self._review_context.mode() != "plan"
        return is_allowed and self._config.is_attended()

    async def _run(self) -> None:
        scope, has_ended = self._scope, self._has_ended
        try:
            with scope:
                # A task cancelled before its start still runs up to its first await. That is this
                # one, so a prompt that arrives immediately costs no model request.
                # The wait doubles with each cancelled review.
                factor = 2 ** min(self._cancelled_in_a_row, MAX_DOUBLINGS)
                await self._config.sleep(self._config.wait_seconds * factor)
                if not self._is_allowed():  # the mode may have changed during the wait
                    return
                # Counted first and reset on success: a cancellation skips the lines below, so the
                # next wait doubles and the counters still make a review due.
                self._cancelled_in_a_row += 1
                await self._config.review(self._config, self._review_context, scope)
                self._cancelled_in_a_row = 0
                self._counters.reset()
        finally:
            has_ended.set()
