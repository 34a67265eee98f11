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

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.hooks.rules import HookRules
from acp_server.session.ports.user_questions import NoUserAsker
from acp_server.session.prompting.prompt_config import MEMORY_LIMIT, USER_LIMIT
from acp_server.session.prompting.provider import FixedPromptProvider
from acp_server.skills.config import SkillConfig
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.gc_pause import pause_gc_on_first_call
from acp_server.subagents.task import SubAgentLimits as DelegationRules
from acp_server.tools.shell.confinement.config import SandboxConfig
from prompt_engine.memory_entries import StoreName

if TYPE_CHECKING:
    from acp_server.permissions.gate import Gate
    from acp_server.permissions.questions import PermissionAsker
    from acp_server.session.ports.editor import EditorPort
    from acp_server.session.ports.session_search import SessionSearch
    from acp_server.session.ports.skills import SkillsPort
    from acp_server.session.ports.user_questions import UserAsker
    from acp_server.session.project.headless_policy import HeadlessPolicy
    from acp_server.session.prompting.file_watch import FileWatch
    from acp_server.session.prompting.provider import PromptProvider
    from acp_server.session.session import Session, SessionWorkspace
    from acp_server.skills.service import SkillService
    from acp_server.tools.toolbox import ServerTools
    from acp_server.turn.ports import Toolbox


@frozen_dataclass
class MemoryConfig:
    """Configuration of the memory that outlasts a session."""

    limits: Mapping[StoreName, int] = field(
        default_factory=lambda: {"memory": MEMORY_LIMIT, "user": USER_LIMIT}
    )
    """Size limits in characters of the enabled stores; if there are none, there is no tool."""
    needs_permission: bool = False
    """Whether each change needs permission."""


@frozen_dataclass
class CheckConfig:
    """Configuration of the checks of changed files, used if the editor sends no diagnostics."""

    commands: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])
    """By language: a program and its arguments, in which `{path}` stands for the file."""
    timeout_seconds: float = 2.0
    """Timeout of one check."""


@frozen_dataclass
class WebConfig:
    """Configuration of `web_fetch`."""

    allowed_private_hosts: Sequence[str] = ()
    """Hosts, addresses and networks that may be reached although they are not public."""
    timeout_seconds: float = 30.0
    """Timeout of a fetch over all its redirects, without the time that the user takes to decide."""
    max_bytes: int = 5_000_000
    """How much of a page is read; holds for the compressed and for the decompressed bytes."""


@frozen_dataclass
class DelegationConfig:
    """Configuration of sub-agents."""

    rules: DelegationRules = field(default_factory=DelegationRules)
    prompt_provider_for: "Callable[[SessionWorkspace], PromptProvider]" = lambda _workspace: (
        FixedPromptProvider()
    )
    """Creates the system-prompt provider of a session's sub-agents."""


@frozen_dataclass
class ToolConfig:
    """Configuration of the tools, shared by all sessions."""

    user_home: Path
    """The directory that `~` stands for."""
    config_home: Path
    """Directory of this program's settings and keys."""
    environment: Mapping[str, str]
    """This process's environment variables; commands get them without `secret_names`."""
    secret_names: Collection[str]
    memory: MemoryConfig = MemoryConfig()
    open_session_search: "Callable[[], SessionSearch] | None" = None
    """Opens the search over past sessions; called in a thread."""
    skills: SkillConfig = field(default_factory=SkillConfig)
    file_watch: "FileWatch | None" = None
    """Reports changes in directories; without it, skills are checked for changes at each use."""
    checks: CheckConfig = CheckConfig()
    headless_policy: "HeadlessPolicy | None" = None
    """Policy of an unattended run."""
    web: WebConfig = WebConfig()
    hooks: HookRules = field(default_factory=HookRules)
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    delegation: DelegationConfig = field(default_factory=DelegationConfig)
    sandbox: SandboxConfig = field(default_factory=SandboxConfig)


@frozen_dataclass
class SessionToolContext:
    """Dependencies of the tools of one session. `tasks` runs the work that outlives a turn."""

    session: "Session"
    editor: "EditorPort"
    permission_asker: "PermissionAsker"
    tasks: TaskGroup
    user_asker: "UserAsker" = field(default_factory=NoUserAsker)
    connect_servers: "ConnectServers | None" = None


class ConnectServers(Protocol):
    """Connects a session's MCP servers."""

    def __call__(
        self, gate: "Gate", tracking_file_changes: Callable[[], AbstractAsyncContextManager[None]]
    ) -> "ServerTools":
        """Connect, and return the source of the servers' tools.

        `changing` is entered around each call of a tool that may change files.
        """
        ...


class ToolFactoryPort(Protocol):
    """Port of the tool factory, so that the loader can name it without importing the tools."""

    @property
    def skill_service(self) -> "SkillService":
        """Skill service that all sessions share."""
        ...

    def create_toolbox(self, context: SessionToolContext) -> "Toolbox":
        """Build the toolbox of a session."""
        ...

    async def open_skills(self, session: "Session") -> "SkillsPort":
        """Load the skills of a session and watch their directories from now on."""
        ...

    async def close(self) -> None:
        """Close the services that the sessions shared, after all sessions are closed."""
        ...


class ToolLoader:
    """Imports and creates the tool factory on first use."""

    def __init__(self, config: ToolConfig) -> None:
        self._config = config
        self._lock = anyio.Lock()
        self._factory: ToolFactoryPort | None = None

    async def load(self) -> ToolFactoryPort:
        """Return the tool factory; the first call imports it, concurrent ones wait for that."""
        async with self._lock:  # two sessions at once must not create two factories
            if self._factory is None:
                self._factory = await to_thread.run_sync(_import_factory, self._config)
        return self._factory

    async def close(self) -> None:
        """Close the services that the sessions shared, after all sessions are closed."""
        factory, self._factory = self._factory, None
        if factory is not None:
            await factory.close()


@pause_gc_on_first_call
def _import_factory(config: ToolConfig) -> ToolFactoryPort:
    from acp_server.tools.factory import ToolFactory

    return ToolFactory(config)
