"""Configuration of the tools, and their lazy import.

Importing the tools takes a while, so it happens once, in a thread, after the first session was
answered.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.checkpoints.config import CheckpointRules
from acp_server.hooks.rules import HookRules
from acp_server.session.ports.user_questions import NoEnquirer
from acp_server.session.prompting.prompt_config import MEMORY_LIMIT, USER_LIMIT
from acp_server.session.prompting.provider import PlainBriefing
from acp_server.skills.config import SkillRules
from acp_server.startup.fast_dataclass import frozen
from acp_server.startup.gc_pause import uncollected
from acp_server.subagents.task import Rules as DelegationRules
from acp_server.tools.shell.confinement.config import SandboxRules
from prompt_engine.memory_entries import StoreName

if TYPE_CHECKING:
    from acp_server.permissions.gate import Gate
    from acp_server.permissions.questions import Asker
    from acp_server.session.ports.editor import Editor
    from acp_server.session.ports.session_search import Recall
    from acp_server.session.ports.skills import Skills
    from acp_server.session.ports.user_questions import Enquirer
    from acp_server.session.project.headless_policy import Terms
    from acp_server.session.prompting.file_watch import FolderWatch
    from acp_server.session.prompting.provider import Briefing
    from acp_server.session.session import Session, Workspace
    from acp_server.skills.service import SkillRoom
    from acp_server.tools.toolbox import ServerTools
    from acp_server.turn.ports import Toolbox


@frozen
class MemoryPremises:
    """Configuration of the memory that outlasts a session."""

    limits: Mapping[StoreName, int] = field(
        default_factory=lambda: {"memory": MEMORY_LIMIT, "user": USER_LIMIT}
    )
    """Size limits in characters of the enabled stores; if there are none, there is no tool."""
    asks_first: bool = False
    """Whether each change needs permission."""


@frozen
class CheckRules:
    """Configuration of the checks of changed files, used if the editor sends no diagnostics."""

    commands: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """By language: a program and its arguments, in which `{path}` stands for the file."""
    seconds: float = 2.0
    """Timeout of one check."""


@frozen
class WebRules:
    """Configuration of `web_fetch`."""

    allow_private: Sequence[str] = ()
    """Hosts, addresses and networks that may be reached although they are not public."""
    timeout_seconds: float = 30.0
    """Timeout of a fetch over all its redirects, without the time that the user takes to decide."""
    most_bytes: int = 5_000_000
    """How much of a page is read; holds for the compressed and for the decompressed bytes."""


@frozen
class DelegationPremises:
    """Configuration of sub-agents."""

    rules: DelegationRules = field(default_factory=DelegationRules)
    briefing: "Callable[[Workspace], Briefing]" = lambda _workspace: PlainBriefing()
    """Creates the system-prompt provider of a session's sub-agents."""


@frozen
class Premises:
    """Configuration of the tools, shared by all sessions."""

    user_home: Path
    """The directory that `~` stands for."""
    own_folder: Path
    """Directory of this program's settings and keys."""
    environment: Mapping[str, str]
    """This process's environment variables; commands get them without `secret_names`."""
    secret_names: Collection[str]
    memory: MemoryPremises = MemoryPremises()
    recall: "Callable[[], Recall] | None" = None
    """Opens the search over past sessions; called in a thread."""
    skills: SkillRules = field(default_factory=SkillRules)
    watch: "FolderWatch | None" = None
    """Reports changes in directories; without it, skills are checked for changes at each use."""
    checks: CheckRules = CheckRules()
    terms: "Terms | None" = None
    """Policy of an unattended run."""
    web: WebRules = WebRules()
    hooks: HookRules = field(default_factory=HookRules)
    checkpoints: CheckpointRules = field(default_factory=CheckpointRules)
    delegation: DelegationPremises = field(default_factory=DelegationPremises)
    sandbox: SandboxRules = field(default_factory=SandboxRules)


@frozen
class Surroundings:
    """Dependencies of the tools of one session. `tasks` runs the work that outlives a turn."""

    session: "Session"
    editor: "Editor"
    asker: "Asker"
    tasks: TaskGroup
    enquirer: "Enquirer" = field(default_factory=NoEnquirer)
    join_servers: "JoinServers | None" = None


class JoinServers(Protocol):
    """Connects a session's MCP servers."""

    def __call__(
        self, gate: "Gate", changing: Callable[[], AbstractAsyncContextManager[None]]
    ) -> "ServerTools":
        """Connect, and return the source of the servers' tools.

        `changing` is entered around each call of a tool that may change files.
        """
        ...


class ToolMaker(Protocol):
    """Port of the tool factory, so that the loader can name it without importing the tools."""

    @property
    def room(self) -> "SkillRoom":
        """Skill service that all sessions share."""
        ...

    def toolbox(self, around: Surroundings) -> "Toolbox":
        """Build the toolbox of a session."""
        ...

    async def open_skills(self, session: "Session") -> "Skills":
        """Load the skills of a session and watch their directories from now on."""
        ...

    async def close(self) -> None:
        """Close the services that the sessions shared, after all sessions are closed."""
        ...


class ToolLoader:
    """Imports and creates the tool factory on first use."""

    def __init__(self, premises: Premises) -> None:
        self._premises = premises
        self._lock = anyio.Lock()
        self._maker: ToolMaker | None = None

    async def load(self) -> ToolMaker:
        """Return the tool factory; the first call imports it, concurrent ones wait for that."""
        async with self._lock:  # two sessions at once must not create two factories
            if self._maker is None:
                self._maker = await to_thread.run_sync(_import, self._premises)
        return self._maker

    async def close(self) -> None:
        """Close the services that the sessions shared, after all sessions are closed."""
        maker, self._maker = self._maker, None
        if maker is not None:
            await maker.close()


@uncollected
def _import(premises: Premises) -> ToolMaker:
    from acp_server.tools.factory import SessionToolMaker

    return SessionToolMaker(premises)
