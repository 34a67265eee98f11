"""The parts of a session that a review uses."""

from collections.abc import Callable
from pathlib import Path

from acp_server.permissions.modes import Mode
from acp_server.session.context import SessionContext
from acp_server.session.ports.reviews import BuildTurnContext
from acp_server.session.user_notices import UserNotices
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Conversation
from acp_server.turn.loop import UsageTotals


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


def make_review_context(
    session: SessionContext, build_turn_context: BuildTurnContext
) -> ReviewContext:
    """Return the parts of a session that a review uses."""
    return ReviewContext(
        session_id=session.id,
        workspace=session.workspace.cwd,
        conversation=session.conversation,
        totals=session.totals,
        notices=session.notices,
        mode=lambda: session.options.mode,
        context=build_turn_context,
        save_facts=session.recorder.save_facts,
    )
