"""Applies a project's requests to a session once the user trusts the workspace.

Reports the requests that are used, and why others are not. `project_settings` defines the requests
that are allowed.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from acp_server.permissions.trust import TrustKeeper
from acp_server.session.ports.mcp import Brought, ServerDesk
from acp_server.session.ports.skills import SkillDesk
from acp_server.session.project.choices import Choices
from acp_server.session.project.settings import ProjectSettings, narrowed, understood
from acp_server.session.prompting.context_maintenance import tell
from acp_server.session.prompting.provider import Briefing
from acp_server.session.prompting.system_prompt import SystemPrompt
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.ports import Sink
from acp_server.turn.step import NewId

MOST_NAMED = 10
SERVERS = "mcp_servers"
MODEL = "model"
NOT_TRUSTED = "the workspace is not trusted (`acp-server trust`)"
NOW_USED = "You trusted this workspace. Its settings apply from now on: {uses}"


@dataclass(slots=True)
class ProjectWishes:
    """The requests of one session's project."""

    briefing: Briefing
    choices: Choices
    system: SystemPrompt
    trust: TrustKeeper | None
    """Knows whether the workspace is trusted; without it no workspace is."""
    new_id: NewId
    desk: SkillDesk | None = None
    """The session's skills, including those from the workspace."""
    servers: ServerDesk | None = None
    """The session's MCP servers, to which the workspace may add some."""
    skills: tuple[str, ...] = field(default=(), init=False)
    """Names of skills to prefer."""
    _is_read: bool = field(default=False, init=False)
    _wish: "_Wish | None" = field(default=None, init=False)
    """The requests that still wait for trust, which may be granted while the session runs."""

    async def heed(self, tools: Sequence[str], sink: Sink) -> bool:
        """Apply the project's requests if it is trusted; return whether that changed anything.

        `tools` are the names of all available tools. The first call tells the user which requests
        are not used and why; later calls only report that waiting requests now apply.
        """
        if not self._is_read:
            return await self._heed_first(tools, sink)
        if self._wish is None or not await self._is_trusted(self._wish):
            return False
        await tell((NOW_USED.format(uses="; ".join(self._wish.uses)),), sink, self.new_id)
        self._use(self._wish)
        return True

    async def _heed_first(self, tools: Sequence[str], sink: Sink) -> bool:
        # Set before the first await: the settings are read and reported only once per session.
        self._is_read = True
        values = {**self.briefing.project_settings()}
        models = await self._models(values.get(MODEL))
        # Only registered here: a repository's servers are programs, and none starts without trust.
        servers = self._bring(values.pop(SERVERS, None))
        asked = understood(values, models, tools, servers.prefixes)
        skills = tuple(await self.desk.waiting()) if self.desk is not None else ()
        wish = _Wish(asked, _brought(skills), _programs(servers.servers))
        # Without any request there is nothing to ask the user about.
        is_trusted = bool(wish.uses) and await self._is_trusted(wish)
        await tell((*_unused(wish, is_trusted=is_trusted), *servers.problems), sink, self.new_id)
        if not wish.uses:
            return False
        self._wish = wish
        if is_trusted:
            self._use(wish)
        return is_trusted

    async def _models(self, wanted: JsonValue) -> Sequence[str]:
        """Return the available models; the endpoints are asked if the requested one is unknown."""
        catalog = self.choices.catalog
        if wanted is not None and all(choice.id != wanted for choice in catalog.choices()):
            await catalog.refresh()
        return [choice.id for choice in catalog.choices()]

    async def _is_trusted(self, wish: "_Wish") -> bool:
        return self.trust is not None and await self.trust.is_given(wish.uses)

    def _bring(self, entries: JsonValue) -> Brought:
        return Brought() if self.servers is None else self.servers.bring(entries)

    def _use(self, wish: "_Wish") -> None:
        self._wish = None
        # The prompt lists skills and tools, so it must be written again with the new ones.
        if wish.skills or wish.servers:
            self.system.discard()
        if self.servers is not None and wish.servers:
            self.servers.admit()
        asked = wish.asked
        # Assigned directly: `set_mode` would store the facts; the caller does, after all changes.
        self.choices.mode = narrowed(self.choices.mode, asked.mode)
        self.choices.chosen_model = asked.model or self.choices.chosen_model
        self.skills = asked.skills
        if asked.tools:
            self.system.narrow_tools(asked.tools)
        self.system.prefer_skills(asked.skills)


@frozen
class _Wish:
    """A project's requested settings, and the skills and servers it adds, as phrases."""

    asked: ProjectSettings
    skills: Sequence[str]
    servers: Sequence[str]

    @property
    def uses(self) -> Sequence[str]:
        """Everything that would be used, as phrases."""
        return (*self.asked.uses, *self.skills, *self.servers)


def _brought(names: Sequence[str]) -> Sequence[str]:
    """Return a phrase for the skills that a workspace adds; nothing if there are none."""
    if not names:
        return ()
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (f"skills of its own: {', '.join(names[:MOST_NAMED])}{more}",)


def _programs(servers: Sequence[str]) -> Sequence[str]:
    """Return a phrase for the servers that a workspace adds; nothing if there are none."""
    return (f"MCP servers of its own: {'; '.join(servers)}",) if servers else ()


def _unused(wish: _Wish, *, is_trusted: bool) -> list[str]:
    asked = wish.asked
    unused = [f"The project's .hermes.md sets {each}; it is not used" for each in asked.refused]
    if not is_trusted:
        unused += [f"The project's .hermes.md asks for {e}; {NOT_TRUSTED}" for e in asked.uses]
        unused += [f"The project has {e}; {NOT_TRUSTED}" for e in (*wish.skills, *wish.servers)]
    return unused
