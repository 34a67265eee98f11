"""What a project asks of a session, used once and only in a workspace that the user trusts.

Says what is used, what is not, and why; what a project may ask for is `project_settings`' matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue

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
NOT_TRUSTED = "the workspace is not trusted (`acp-server trust`)"


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
    _is_heeded: bool = field(default=False, init=False)

    async def heed(self, tools: Sequence[str], sink: Sink) -> bool:
        """Use what the project asks for, at the first call; return whether that changes anything.

        `tools` are the names of all that there are. The user is told what is not used, and why.
        """
        if self._is_heeded:
            return False
        self._is_heeded = True
        models = [choice.id for choice in self.choices.catalog.choices()]
        values = {**self.briefing.project_settings()}
        servers = self._bring(values.pop(SERVERS, None))
        asked = understood(values, models, tools)
        brought = tuple(await self.desk.waiting()) if self.desk is not None else ()
        uses = (*asked.uses, *_brought(brought), *_programs(servers.servers))
        is_trusted = self.trust is not None and await self.trust.is_given(uses)
        unused = _unused(asked, uses, is_trusted=is_trusted)
        await tell((*unused, *servers.problems), sink, self.new_id)
        if not is_trusted or not uses:
            return False
        if brought or servers.servers:
            self.system.discard()
        if self.servers is not None and servers.servers:
            self.servers.admit()
        self._use(asked)
        return True

    def _bring(self, entries: JsonValue) -> Brought:
        return Brought() if self.servers is None else self.servers.bring(entries)

    def _use(self, asked: ProjectSettings) -> None:
        self.choices.mode = narrowed(self.choices.mode, asked.mode)
        self.choices.chosen_model = asked.model or self.choices.chosen_model
        self.skills = asked.skills
        if asked.tools:
            self.system.narrow_tools(asked.tools)
        self.system.prefer_skills(asked.skills)


def _brought(names: Sequence[str]) -> Sequence[str]:
    """Return the skills that a workspace brings, in one phrase if there are any."""
    if not names:
        return ()
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return (f"skills of its own: {', '.join(names[:MOST_NAMED])}{more}",)


def _programs(servers: Sequence[str]) -> Sequence[str]:
    """Return the servers that a workspace brings, in one phrase if there are any."""
    return (f"MCP servers of its own: {'; '.join(servers)}",) if servers else ()


def _unused(asked: ProjectSettings, uses: Sequence[str], *, is_trusted: bool) -> list[str]:
    unused = [f"The project's .hermes.md sets {each}; it is not used" for each in asked.refused]
    if not is_trusted:
        unused += [f"The project's .hermes.md asks for {e}; {NOT_TRUSTED}" for e in asked.uses]
        brought = uses[len(asked.uses) :]
        unused += [f"The project has {each}; {NOT_TRUSTED}" for each in brought]
    return unused
