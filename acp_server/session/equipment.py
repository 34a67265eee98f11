"""What a session begins with: its folders, what a server gives to all sessions, and its past."""

from collections.abc import Awaitable, Callable
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from acp_server.frozen import frozen
from acp_server.memory.pages import ReadMemory, no_pages
from acp_server.permissions.modes import Mode
from acp_server.permissions.trust import TrustKeeper
from acp_server.session.briefing import Briefing
from acp_server.session.identifiers import new_session_id
from acp_server.session.outside_memory import ExternalMemory
from acp_server.session.ports import ModelCatalog
from acp_server.session.records import Archive, Journal, SessionFacts
from acp_server.session.reviews import KitMaker, NoReviews, Reviews
from acp_server.session.skills import Skills
from acp_server.session.steering import Manner
from acp_server.session.unkept import UnkeptArchive
from acp_server.turn.conversation import Message
from acp_server.turn.loop import Spent
from acp_server.turn.ports import Toolbox

if TYPE_CHECKING:
    from acp_server.session.session import Session


@frozen
class Workspace:
    """The folders of a session: absolute, `cwd` first among equals."""

    cwd: Path
    additional: tuple[Path, ...] = ()

    @property
    def roots(self) -> tuple[Path, ...]:
        """All of them."""
        return (self.cwd, *self.additional)


@frozen
class Equipment:
    """What every session of a server works with."""

    catalog: ModelCatalog
    toolbox: Callable[["Session"], Awaitable[Toolbox]]
    """Makes the tools of a session, once it is open."""
    briefing: Callable[[Workspace], Briefing]
    """Makes what a session tells its model beside the conversation."""
    trust: Callable[["Session"], TrustKeeper] | None = None
    """Knows whether a session's workspace is trusted; without it none is."""
    skills: Callable[["Session"], Awaitable[Skills]] | None = None
    """Finds the skills of a session, once it is open; without it there are none."""
    memory: ExternalMemory | None = None
    """Remembers beside the conversation; without it nobody does."""
    read_memory: ReadMemory = no_pages
    """Reads what is remembered, for the user to see."""
    reviews: Callable[["Session", KitMaker], Reviews] = NoReviews
    """Goes over a session's conversation between its turns."""
    close: Callable[[], Awaitable[None]] | None = None
    """Ends what the sessions shared, once all are closed."""
    mode: Mode = "ask"
    max_turn_requests: int = 100
    compaction_threshold: float = 0.75
    busy_prompt: Manner = "queue"
    """What becomes of a prompt that comes while a turn runs."""
    archive: Archive = field(default_factory=UnkeptArchive)
    """Keeps what is said."""


@frozen
class Past:
    """What a session goes on from."""

    facts: SessionFacts
    messages: tuple[Message, ...]
    journal: Journal


def beginning(workspace: Workspace, equipment: Equipment) -> Past:
    """Return the past of a new session: none."""
    now = datetime.now(UTC)
    facts = SessionFacts(
        id=new_session_id(),
        cwd=workspace.cwd,
        created_at=now,
        updated_at=now,
        additional=workspace.additional,
        mode=equipment.mode,
    )
    return Past(facts, (), equipment.archive.create(facts))


def fresh(facts: SessionFacts, workspace: Workspace) -> SessionFacts:
    """Return the facts of a session that goes on from another one, having cost nothing yet."""
    now, spent = datetime.now(UTC), Spent(context_tokens=facts.spent.context_tokens)
    return replace(
        facts,
        id=new_session_id(),
        cwd=workspace.cwd,
        additional=workspace.additional,
        created_at=now,
        updated_at=now,
        spent=spent,
    )
