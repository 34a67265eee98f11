"""Dependencies of a session: the services that sessions share, and its saved state."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime

from acp_server.memory.pages import ReadMemory, no_memory_pages
from acp_server.permissions.modes import Mode
from acp_server.permissions.network_access import NetworkAccess, PortAccess
from acp_server.permissions.trust import WorkspaceTrust
from acp_server.session.context import SessionContext
from acp_server.session.ids import new_session_id
from acp_server.session.ports.archive import Journal, SeenFile, SessionArchive, SessionFacts
from acp_server.session.ports.external_memory import OpenExternalMemory, no_external_memory
from acp_server.session.ports.model_catalog import FallbackChoice, ModelCatalog
from acp_server.session.ports.null_archive import NullArchive
from acp_server.session.ports.observer import ShowNotice
from acp_server.session.ports.reviews import BuildTurnContext, NoReviews, Reviews
from acp_server.session.ports.toolset import BuildToolset
from acp_server.session.prompting.old_results import CompactionConfig
from acp_server.session.prompting.provider import PromptProvider
from acp_server.session.steering import BusyMode
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.conversation import Message
from acp_server.turn.usage_totals import UsageTotals


@frozen_dataclass
class SessionServices:
    """Services and settings shared by all sessions of a server."""

    catalog: ModelCatalog
    toolset: BuildToolset
    """Builds a session's tools at their first use."""
    prompt_provider: Callable[[SessionWorkspace, ShowNotice], Lazy[PromptProvider]]
    """Creates a session's prompt provider."""
    trust: Callable[[SessionContext], WorkspaceTrust] | None = None
    """Knows whether a session's workspace is trusted; without it no workspace is."""
    open_memory: OpenExternalMemory = no_external_memory
    """Opens the external memory of a session."""
    read_memory: ReadMemory = no_memory_pages
    """Reads the memory pages for display to the user."""
    reviews: Callable[[SessionContext, BuildTurnContext], Reviews] = NoReviews
    """Creates the background reviews that run between a session's turns."""
    close: Callable[[], Awaitable[None]] | None = None
    """Closes the shared services after all sessions have closed."""
    mode: Mode = "ask"
    network: NetworkAccess | None = None
    """The network of sandboxed commands; None if commands are not sandboxed."""
    ports: PortAccess | None = None
    """Whether this machine may connect to their ports; None if they are not sandboxed."""
    fast_mode: bool = False
    """Whether sessions begin in fast mode, if their model has one."""
    max_turn_requests: int = 100
    fallback_models: tuple[FallbackChoice, ...] = ()
    """Ids of models that take over for the rest of a turn when the chosen one is out of service."""
    max_cost_usd: float | None = None
    """The cost at which a session asks the user whether to continue."""
    compaction: CompactionConfig = field(default_factory=CompactionConfig)
    busy_mode: BusyMode = "queue"
    """How to treat a prompt that arrives while a turn runs."""
    archive: SessionArchive = field(default_factory=NullArchive)
    """Stores the sessions."""
    token_scales: dict[str, float] = field(default_factory=dict[str, float])
    """Corrections of token estimates, by model id: a session begins with those of others."""


@frozen_dataclass
class SessionSnapshot:
    """The state that a session starts from."""

    facts: SessionFacts
    messages: Sequence[Message]
    journal: Journal
    seen_files: Sequence[SeenFile] = ()
    checkpoints: Sequence[str] = ()
    """Ids of the checkpoints that its prompts name."""
    removed_messages: Mapping[str, tuple[Message, ...]] = field(
        default_factory=dict[str, tuple[Message, ...]]
    )
    """What rewinds of the conversation removed, by checkpoint."""


def new_snapshot(workspace: SessionWorkspace, services: SessionServices) -> SessionSnapshot:
    """Return the empty state of a new session."""
    now = datetime.now(UTC)
    facts = SessionFacts(
        id=new_session_id(),
        cwd=workspace.cwd,
        created_at=now,
        updated_at=now,
        additional_directories=workspace.additional_directories,
        mode=services.mode,
    )
    return SessionSnapshot(facts, (), services.archive.create(facts))


def forked_facts(facts: SessionFacts, workspace: SessionWorkspace) -> SessionFacts:
    """Return the facts of a fork: a new id and no usage yet."""
    # The context fill carries over: the fork's first request sends the same conversation.
    now, usage = datetime.now(UTC), UsageTotals(context_tokens=facts.usage.context_tokens)
    return replace(
        facts,
        id=new_session_id(),
        cwd=workspace.cwd,
        additional_directories=workspace.additional_directories,
        created_at=now,
        updated_at=now,
        usage=usage,
    )
