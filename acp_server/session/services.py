"""Dependencies of a session: its workspace, the shared services, its saved state."""

from collections.abc import Awaitable, Callable
from dataclasses import field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from acp_server.memory.pages import ReadMemory, no_pages
from acp_server.permissions.modes import Mode
from acp_server.permissions.trust import TrustKeeper
from acp_server.session.ids import new_session_id
from acp_server.session.ports.archive import Archive, Journal, SessionFacts
from acp_server.session.ports.external_memory import ExternalMemory
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.session.ports.null_archive import UnkeptArchive
from acp_server.session.ports.reviews import KitMaker, NoReviews, Reviews
from acp_server.session.ports.skills import Skills
from acp_server.session.prompting.provider import Briefing
from acp_server.session.steering import Manner
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.conversation import Message
from acp_server.turn.loop import Spent
from acp_server.turn.ports import Toolbox

if TYPE_CHECKING:
    from acp_server.session.session import Session


@frozen
class Workspace:
    """The directories of a session: absolute paths, `cwd` first."""

    cwd: Path
    additional: tuple[Path, ...] = ()

    @property
    def roots(self) -> tuple[Path, ...]:
        """All directories."""
        return (self.cwd, *self.additional)


@frozen
class Equipment:
    """Services and settings shared by all sessions of a server."""

    catalog: ModelCatalog
    toolbox: Callable[["Session"], Awaitable[Toolbox]]
    """Builds a session's tools once it is open."""
    briefing: Callable[[Workspace], Briefing]
    """Creates a session's prompt provider."""
    trust: Callable[["Session"], TrustKeeper] | None = None
    """Knows whether a session's workspace is trusted; without it no workspace is."""
    skills: Callable[["Session"], Awaitable[Skills]] | None = None
    """Finds a session's skills once it is open; None for no skills."""
    memory: ExternalMemory | None = None
    """The external memory; None if there is none."""
    read_memory: ReadMemory = no_pages
    """Reads the memory pages for display to the user."""
    reviews: Callable[["Session", KitMaker], Reviews] = NoReviews
    """Creates the background reviews that run between a session's turns."""
    close: Callable[[], Awaitable[None]] | None = None
    """Closes the shared services after all sessions have closed."""
    mode: Mode = "ask"
    max_turn_requests: int = 100
    compaction_threshold: float = 0.75
    busy_prompt: Manner = "queue"
    """How to treat a prompt that arrives while a turn runs."""
    archive: Archive = field(default_factory=UnkeptArchive)
    """Stores the sessions."""


@frozen
class Past:
    """The state that a session starts from."""

    facts: SessionFacts
    messages: tuple[Message, ...]
    journal: Journal


def beginning(workspace: Workspace, equipment: Equipment) -> Past:
    """Return the empty state of a new session."""
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
    """Return the facts of a fork: a new id and no usage yet."""
    # The context fill carries over: the fork's first request sends the same conversation.
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
