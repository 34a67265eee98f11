"""What a project asks of a session, used only in a workspace that the user trusts, from then on.

Says what is used, what is not, and why; what a project may ask for is `project_settings`' matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.permissions.trust import TrustKeeper
from acp_server.session.briefing import Briefing
from acp_server.session.choices import Choices
from acp_server.session.project_settings import ProjectSettings, narrowed, understood
from acp_server.session.servers import Brought, ServerDesk
from acp_server.session.skills import SkillDesk
from acp_server.session.system import SystemPrompt
from acp_server.session.upkeep import tell
from acp_server.turn.ports import Sink
from acp_server.turn.step import NewId

MOST_NAMED = 10
SERVERS = "mcp_servers"
MODEL = "model"
NOT_TRUSTED = "the workspace is not trusted (`acp-server trust`)"
NOW_USED = "The workspace is trusted now. What it asks for is used from here on: {uses}"


@dataclass(slots=True)
class ProjectWishes:
    """The wishes of one session's project."""

    briefing: Briefing
    choices: Choices
    system: SystemPrompt
    trust: TrustKeeper | None
    """Knows whether the workspace is trusted; without it none is."""
    new_id: NewId
    desk: SkillDesk | None = None
    """The session's skills, among them those that its workspace brings."""
    servers: ServerDesk | None = None
    """The session's MCP servers, to which the workspace may bring some."""
    skills: tuple[str, ...] = field(default=(), init=False)
    """The names of skills to prefer."""
    _is_read: bool = field(default=False, init=False)
    _wish: "_Wish | None" = field(default=None, init=False)
    """What is not used yet: it waits for trust, which may be given while the session runs."""

    async def heed(self, tools: Sequence[str], sink: Sink) -> bool:
        """Use what the project asks for, once it is trusted; return whether that changes anything.

        `tools` are the names of all that there are. The user is told at the first call what is not
        used, and why; at a later one only that it is used from now on.
        """
        if not self._is_read:
            return await self._heed_first(tools, sink)
        if self._wish is None or not await self._is_trusted(self._wish):
            return False
        await tell((NOW_USED.format(uses="; ".join(self._wish.uses)),), sink, self.new_id)
        self._use(self._wish)
        return True

    async def _heed_first(self, tools: Sequence[str], sink: Sink) -> bool:
        self._is_read = True
        values = {**self.briefing.project_settings()}
        models = await self._models(values.get(MODEL))
        servers = self._bring(values.pop(SERVERS, None))
        asked = understood(values, models, tools, servers.prefixes)
        skills = tuple(await self.desk.waiting()) if self.desk is not None else ()
        wish = _Wish(asked, _brought(skills), _programs(servers.servers))
        is_trusted = bool(wish.uses) and await self._is_trusted(wish)
        await tell((*_unused(wish, is_trusted=is_trusted), *servers.problems), sink, self.new_id)
        if not wish.uses:
            return False
        self._wish = wish
        if is_trusted:
            self._use(wish)
        return is_trusted

    async def _models(self, wanted: JsonValue) -> Sequence[str]:
        """Return the models that can be had; endpoints are asked if the wanted one is unknown."""
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
        if wish.skills or wish.servers:
            self.system.discard()
        if self.servers is not None and wish.servers:
            self.servers.admit()
        asked = wish.asked
        self.choices.mode = narrowed(self.choices.mode, asked.mode)
        self.choices.chosen_model = asked.model or self.choices.chosen_model
        self.skills = asked.skills
        if asked.tools:
            self.system.narrow_tools(asked.tools)
        self.system.prefer_skills(asked.skills)


@frozen
class _Wish:
    """What a project asks for and brings, the latter in a phrase each."""

    asked: ProjectSettings
    skills: Sequence[str]
    servers: Sequence[str]

    @property
    def uses(self) -> Sequence[str]:
        """What would be used, in a phrase each."""
        return (*self.asked.uses, *self.skills, *self.servers)


def _brought(names: Sequence[str]) -> Sequence[str]:
    """Return the skills that a workspace brings, in one phrase if there are any."""
    if not names:
        return ()
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (f"skills of its own: {', '.join(names[:MOST_NAMED])}{more}",)


def _programs(servers: Sequence[str]) -> Sequence[str]:
    """Return the servers that a workspace brings, in one phrase if there are any."""
    return (f"MCP servers of its own: {'; '.join(servers)}",) if servers else ()


def _unused(wish: _Wish, *, is_trusted: bool) -> list[str]:
    asked = wish.asked
    unused = [f"The project's .hermes.md sets {each}; it is not used" for each in asked.refused]
    if not is_trusted:
        unused += [f"The project's .hermes.md asks for {e}; {NOT_TRUSTED}" for e in asked.uses]
        unused += [f"The project has {e}; {NOT_TRUSTED}" for e in (*wish.skills, *wish.servers)]
    return unused
