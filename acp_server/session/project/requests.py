"""Applies a project's requests to a session once the user trusts the workspace.

Reports the requests that are used, and why others are not. `project_settings` defines the requests
that are allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from acp_server.permissions.trust import WorkspaceTrust
from acp_server.session.ports.mcp import McpSession, ProjectServers
from acp_server.session.ports.skills import SkillCommands
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.project.settings import (
    ProjectSettings,
    parse_project_settings,
    stricter_mode,
)
from acp_server.session.prompting.context_maintenance import show_notices
from acp_server.session.prompting.provider import PromptProvider
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import TurnSink
from acp_server.turn.step import NewId

MAX_NAMED = 10
SERVERS = "mcp_servers"
MODEL = "model"
NOT_TRUSTED = "the workspace is not trusted (`acp-server trust`)"
NOW_USED = "You trusted this workspace. Its settings apply from now on: {uses}"


@dataclass(slots=True)
class ProjectRequests:
    """The requests of one session's project."""

    prompt_provider: PromptProvider
    options: SelectedOptions
    system: SystemPrompt
    trust: WorkspaceTrust | None
    """Knows whether the workspace is trusted; without it no workspace is."""
    new_id: NewId
    session_skills: SkillCommands | None = None
    """The session's skills, including those from the workspace."""
    servers: McpSession | None = None
    """The session's MCP servers, to which the workspace may add some."""
    skills: tuple[str, ...] = field(default=(), init=False)
    """Names of skills to prefer."""
    _is_read: bool = field(default=False, init=False)
    _pending: "_ProjectRequest | None" = field(default=None, init=False)
    """The requests that still wait for trust, which may be granted while the session runs."""

    async def apply(self, tools: Sequence[str], sink: TurnSink) -> bool:
        """Apply the project's requests if it is trusted; return whether that changed anything.

        `tools` are the names of all available tools. The first call tells the user which requests
        are not used and why; later calls only report that waiting requests now apply.
        """
        if not self._is_read:
            return await self._apply_first(tools, sink)
        if self._pending is None or not await self._is_trusted(self._pending):
            return False
        # Said first: if the turn is cancelled here, the requests stay pending.
        await show_notices(
            (NOW_USED.format(uses="; ".join(self._pending.summary)),), sink, self.new_id
        )
        self._apply_request(self._pending)
        return True

    async def _apply_first(self, tools: Sequence[str], sink: TurnSink) -> bool:
        # Set before the first await: the settings are read and reported only once per session.
        self._is_read = True
        values = {**self.prompt_provider.project_settings()}
        models = await self._available_models(values.get(MODEL))
        # Only registered here: a repository's servers are programs, and none starts without trust.
        added = self._register_servers(values.pop(SERVERS, None))
        parsed = parse_project_settings(values, models, tools, added.tool_prefixes)
        names = (
            tuple(await self.session_skills.untrusted_names())
            if self.session_skills is not None
            else ()
        )
        request = _ProjectRequest(parsed, _describe_skills(names), _describe_servers(added.servers))
        # Without any request there is nothing to ask the user about.
        is_trusted = bool(request.summary) and await self._is_trusted(request)
        await show_notices(
            (*_explain_unused(request, is_trusted=is_trusted), *added.problems), sink, self.new_id
        )
        if not request.summary:
            return False
        self._pending = request
        if is_trusted:
            self._apply_request(request)
        return is_trusted

    async def _available_models(self, requested: JsonValue) -> Sequence[str]:
        """Return the available models; the endpoints are asked if the requested one is unknown."""
        catalog = self.options.catalog
        if requested is not None and all(choice.id != requested for choice in catalog.choices()):
            await catalog.refresh()
        return [choice.id for choice in catalog.choices()]

    async def _is_trusted(self, request: "_ProjectRequest") -> bool:
        return self.trust is not None and await self.trust.is_trusted(request.summary)

    def _register_servers(self, entries: JsonValue) -> ProjectServers:
        return ProjectServers() if self.servers is None else self.servers.register(entries)

    def _apply_request(self, request: "_ProjectRequest") -> None:
        self._pending = None
        # The prompt lists skills and tools, so it must be written again with the new ones.
        if request.skills or request.servers:
            self.system.discard()
        if self.servers is not None and request.servers:
            self.servers.start_registered()
        settings = request.settings
        # Assigned directly: `set_mode` would store the facts; the caller does, after all changes.
        self.options.mode = stricter_mode(self.options.mode, settings.mode)
        self.options.chosen_model = settings.model or self.options.chosen_model
        self.skills = settings.skills
        if settings.tools:
            self.system.narrow_tools(settings.tools)
        self.system.prefer_skills(settings.skills)


@frozen_dataclass
class _ProjectRequest:
    """A project's requested settings, and the skills and servers it adds, as phrases."""

    settings: ProjectSettings
    skills: Sequence[str]
    servers: Sequence[str]

    @property
    def summary(self) -> Sequence[str]:
        """Everything that would be used, as phrases."""
        return (*self.settings.summary, *self.skills, *self.servers)


def _describe_skills(names: Sequence[str]) -> Sequence[str]:
    """Return a phrase for the skills that a workspace adds; nothing if there are none."""
    if not names:
        return ()
    more = f" and {len(names) - MAX_NAMED} more" if len(names) > MAX_NAMED else ""
    return (f"skills of its own: {', '.join(names[:MAX_NAMED])}{more}",)


def _describe_servers(servers: Sequence[str]) -> Sequence[str]:
    """Return a phrase for the servers that a workspace adds; nothing if there are none."""
    return (f"MCP servers of its own: {'; '.join(servers)}",) if servers else ()


def _explain_unused(wish: _ProjectRequest, *, is_trusted: bool) -> list[str]:
    parsed = wish.settings
    unused = [f"The project's .hermes.md sets {each}; it is not used" for each in parsed.refused]
    if not is_trusted:
        unused += [f"The project's .hermes.md asks for {e}; {NOT_TRUSTED}" for e in parsed.summary]
        unused += [f"The project has {e}; {NOT_TRUSTED}" for e in (*wish.skills, *wish.servers)]
    return unused
