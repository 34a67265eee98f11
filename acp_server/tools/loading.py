"""Imports the tools in a thread, once, after the first session was answered: it takes a while."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.checkpoints.rules import CheckpointRules
from acp_server.delegation.task import Rules as DelegationRules
from acp_server.frozen import frozen
from acp_server.hooks.rules import HookRules
from acp_server.session.briefing import PlainBriefing
from acp_server.session.enquiries import NoEnquirer
from acp_server.session.prompt_settings import MEMORY_LIMIT, USER_LIMIT
from acp_server.skills.rules import SkillRules
from acp_server.tools.shell.confinement.rules import SandboxRules
from acp_server.uncollected import uncollected
from prompt_engine.memory_entries import StoreName

if TYPE_CHECKING:
    from acp_server.permissions.gate import Gate
    from acp_server.permissions.questions import Asker
    from acp_server.session.briefing import Briefing
    from acp_server.session.editor import Editor
    from acp_server.session.enquiries import Enquirer
    from acp_server.session.recall import Recall
    from acp_server.session.session import Session, Workspace
    from acp_server.session.skills import Skills
    from acp_server.session.terms import Terms
    from acp_server.session.watch import FolderWatch
    from acp_server.skills.room import SkillRoom
    from acp_server.tools.toolbox import ServerTools
    from acp_server.turn.ports import Toolbox


@frozen
class MemoryPremises:
    """What may be remembered beyond a session."""

    limits: Mapping[StoreName, int] = field(
        default_factory=lambda: {"memory": MEMORY_LIMIT, "user": USER_LIMIT}
    )
    """The sizes in characters of the stores that are switched on; without one there is no tool."""
    asks_first: bool = False
    """Whether the user is asked about each change."""


@frozen
class CheckRules:
    """What checks a changed file where no editor does."""

    commands: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """By language: a program and its arguments, in which `{path}` stands for the file."""
    seconds: float = 2.0
    """How long one may take."""


@frozen
class WebRules:
    """What the user says of fetching pages."""

    allow_private: Sequence[str] = ()
    """Hosts, addresses and networks that may be reached though they are not public."""
    timeout_seconds: float = 30.0
    """How long the sites that a page comes from may take together."""
    most_bytes: int = 5_000_000
    """How much of a page is read, packed or unpacked."""


@frozen
class DelegationPremises:
    """How sub-agents work."""

    rules: DelegationRules = field(default_factory=DelegationRules)
    briefing: "Callable[[Workspace], Briefing]" = lambda _workspace: PlainBriefing()
    """Makes what the sub-agents of a session are told beside their tasks."""


@frozen
class Premises:
    """What the tools of all sessions share."""

    user_home: Path
    """What `~` means."""
    own_folder: Path
    """Where this program keeps its settings and keys."""
    environment: Mapping[str, str]
    """Our variables; commands see them without those of `secret_names`."""
    secret_names: Collection[str]
    memory: MemoryPremises = MemoryPremises()
    recall: "Callable[[], Recall] | None" = None
    """Opens what searches past sessions; called in a thread."""
    skills: SkillRules = field(default_factory=SkillRules)
    watch: "FolderWatch | None" = None
    """Tells of changes in folders; without it skills are looked at each time."""
    checks: CheckRules = CheckRules()
    terms: "Terms | None" = None
    """What was settled for a run that nobody attends."""
    web: WebRules = WebRules()
    hooks: HookRules = field(default_factory=HookRules)
    checkpoints: CheckpointRules = field(default_factory=CheckpointRules)
    delegation: DelegationPremises = field(default_factory=DelegationPremises)
    sandbox: SandboxRules = field(default_factory=SandboxRules)


@frozen
class Surroundings:
    """What the tools of one session work with; in `tasks` runs what goes on between turns."""

    session: "Session"
    editor: "Editor"
    asker: "Asker"
    tasks: TaskGroup
    enquirer: "Enquirer" = field(default_factory=NoEnquirer)
    join_servers: "JoinServers | None" = None


class JoinServers(Protocol):
    """Has a session's MCP servers connected."""

    def __call__(
        self, gate: "Gate", changing: Callable[[], AbstractAsyncContextManager[None]]
    ) -> "ServerTools":
        """Return where their tools are found; `changing` stands around calls that change files."""
        ...


class ToolMaker(Protocol):
    """Makes the tools of sessions, once they are imported."""

    @property
    def room(self) -> "SkillRoom":
        """Where the skills of all sessions come from."""
        ...

    def toolbox(self, around: Surroundings) -> "Toolbox":
        """Return the tools of a session."""
        ...

    async def open_skills(self, session: "Session") -> "Skills":
        """Return the skills of a session, found and followed from now on."""
        ...

    async def close(self) -> None:
        """End what the sessions shared, once all are closed."""
        ...


class ToolLoader:
    """The maker of tools, from the first time that somebody asks for it."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises
        self._lock = anyio.Lock()
        self._maker: ToolMaker | None = None

    async def load(self) -> ToolMaker:
        """Return the maker; the first call imports it, later ones wait for that."""
        async with self._lock:
            if self._maker is None:
                self._maker = await to_thread.run_sync(_import, self._premises)
        return self._maker

    async def close(self) -> None:
        """End what the sessions shared, once all are closed."""
        maker, self._maker = self._maker, None
        if maker is not None:
            await maker.close()


@uncollected
def _import(premises: Premises) -> ToolMaker:
    from acp_server.tools.kit import SessionToolMaker

    return SessionToolMaker(premises)
