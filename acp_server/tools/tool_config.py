"""Configuration of the tools, shared by all sessions."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import field
from pathlib import Path

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.hooks.rules import HookRules
from acp_server.memory.config import MemoryConfig
from acp_server.permissions.config import ApprovalConfig
from acp_server.session.ports.session_search import SessionSearch
from acp_server.session.project.headless_policy import HeadlessPolicy
from acp_server.session.prompting.file_watch import FileWatch
from acp_server.session.prompting.provider import FixedPromptProvider, PromptProvider
from acp_server.session.workspace import SessionWorkspace
from acp_server.skills.config import SkillConfig
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from acp_server.subagents.task import SubAgentLimits as DelegationRules
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.skills.variable_store import SkillVariableStore
from acp_server.tools.tool_settings import (
    CheckConfig,
    TerminalConfig,
    ToolsetConfig,
    WebConfig,
)


def _fixed_prompt(workspace: SessionWorkspace) -> Lazy[PromptProvider]:
    del workspace
    return Lazy[PromptProvider].of(FixedPromptProvider())


@frozen_dataclass
class DelegationConfig:
    """Configuration of sub-agents."""

    rules: DelegationRules = field(default_factory=DelegationRules)
    prompt_provider_for: Callable[[SessionWorkspace], Lazy[PromptProvider]] = _fixed_prompt
    """Creates the system-prompt provider of a session's sub-agents."""
    auxiliary_model: str | None = None
    """The model for work that needs no large one; None for the session's."""


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
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    open_session_search: Callable[[], SessionSearch] | None = None
    """Opens the search over past sessions; called in a thread."""
    skills: SkillConfig = field(default_factory=SkillConfig)
    file_watch: FileWatch | None = None
    """Reports changes in directories; without it, skills are checked for changes at each use."""
    checks: CheckConfig = field(default_factory=CheckConfig)
    headless_policy: HeadlessPolicy | None = None
    """Policy of an unattended run."""
    web: WebConfig = field(default_factory=WebConfig)
    terminal: TerminalConfig = field(default_factory=TerminalConfig)
    toolsets: ToolsetConfig = field(default_factory=ToolsetConfig)
    hooks: HookRules = field(default_factory=HookRules)
    approvals: ApprovalConfig = field(default_factory=ApprovalConfig)
    checkpoints: CheckpointConfig = field(default_factory=CheckpointConfig)
    delegation: DelegationConfig = field(default_factory=DelegationConfig)
    sandbox: SandboxConfig = field(default_factory=lambda: SandboxConfig("off"))
    skill_variables: SkillVariableStore = field(default_factory=SkillVariableStore)
    """The values of variables that skills declare."""
    hides_process: bool = False
    """Whether this process hides its environment and memory from the commands."""
