"""The parts of a session's tools that its first request needs: skills, command files, agents.

Everything else is imported later (`deferred_toolset`), so little may be imported here.
"""

from collections.abc import Callable, Mapping
from functools import partial

from acp_server.command_files.discovery import command_places
from acp_server.command_files.session_commands import SessionCommandFiles
from acp_server.session.context import SessionContext
from acp_server.skills.service import SkillService
from acp_server.skills.session_skills import SessionSkills
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.subagents.definitions import AgentReader, agent_places
from acp_server.subagents.session_agents import AgentSources, SessionAgents
from acp_server.tools.agents.lazy_imports import describe_agent_tools
from acp_server.tools.shell.process_secrets import hide_process
from acp_server.tools.tool_config import ToolConfig
from acp_server.turn.ports import Toolbox

AvailableNames = Callable[[], frozenset[str]]
"""Returns the names of the tools that a session has."""


@frozen_dataclass
class SessionParts:
    """The parts of one session."""

    skills: SessionSkills
    command_files: SessionCommandFiles
    agents: SessionAgents


class SharedParts:
    """What the parts of all sessions share, and their builder."""

    def __init__(self, config: ToolConfig) -> None:
        policy = config.headless_policy
        self._config = config
        # Security: before the first command, which may run outside the sandbox.
        self.has_private_memory = config.hides_process and hide_process(config.secret_names)
        self.skill_service = SkillService(
            config.config_home,
            config.user_home,
            config.skills,
            visible_environment(config),
            config.file_watch,
            fixed_trust=None if policy is None else policy.is_trusted,
        )
        self._agent_reader = AgentReader(self.skill_service.content_trust.is_trusted)

    def create(
        self, session: SessionContext, toolbox: Toolbox, available_names: AvailableNames
    ) -> SessionParts:
        """Return all parts of a session; nothing is read yet."""
        return SessionParts(
            self.skills(session),
            self.command_files(session, toolbox),
            self.agents(session, available_names),
        )

    def skills(self, session: SessionContext) -> SessionSkills:
        """Return the skills of a session."""
        return SessionSkills(self.skill_service, session.id, session.workspace.cwd)

    def command_files(self, session: SessionContext, toolbox: Toolbox) -> SessionCommandFiles:
        """Return the command files of the workspace and the user."""
        config, workspace = self._config, session.workspace
        return SessionCommandFiles(
            command_places(workspace.roots, config.user_home, config.config_home),
            toolbox,
            partial(self.skill_service.is_trusted, workspace.cwd),
            self.skill_service.content_trust.is_trusted,
            config.file_watch,
        )

    def agents(self, session: SessionContext, available_names: AvailableNames) -> SessionAgents:
        """Return the agents of a session."""
        config, workspace = self._config, session.workspace

        sources = AgentSources(
            agent_places(workspace.roots, config.user_home, config.config_home),
            partial(self.skill_service.is_trusted, workspace.cwd),
            self._agent_reader,
            config.file_watch,
            config.delegation.auxiliary_model,
        )
        return SessionAgents(sources, lambda tools: describe_agent_tools(tools, available_names()))


def visible_environment(config: ToolConfig) -> Mapping[str, str]:
    """Return the environment variables that the model's commands see: all but the secrets."""
    variables = config.environment.items()
    return {name: value for name, value in variables if name not in config.secret_names}
