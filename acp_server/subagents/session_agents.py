"""The agents of one session: which may be used, how their files are followed, and their list."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

from anyio import to_thread

from acp_server.project_files.followed_places import FollowedPlaces
from acp_server.project_files.places import FilePlace, to_name
from acp_server.session.prompting.file_watch import FileWatch
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.subagents.agent import AgentDefinition, ToolSelection
from acp_server.subagents.definitions import (
    EXPLORE,
    AgentReader,
    FoundAgents,
    RefusedAgent,
    built_in_agents,
)
from acp_server.text.lines import to_single_line

MAX_LISTED_CHARACTERS = 6_000
"""How long the list of agents in the tool's description may be."""
SHORT_CHARACTERS = (200, 80)
"""Lengths of descriptions; the first that lets the list fit is taken, or else names alone."""
NO_SPECIAL_AGENT = frozenset({"general-purpose", "general", "default", "none"})
"""Names that other agents have for a sub-agent with all tools and no prompt of its own."""
HEADING = "Agents for `delegate_task`:"
WAITING = "unused: the workspace is not trusted"
UNKNOWN = "there is no agent {name!r}; there are {known}. Without agent, a sub-agent has all tools."
UNTRUSTED = (
    "the agent {name!r} is a file of this workspace, which the user does not trust "
    "(`acp-server trust`); nothing was delegated"
)
GONE = "the agent {name!r} cannot be used: {reason}; nothing was delegated"
CHANGED = "[Agents for delegate_task have changed. {changes}.]"


class AgentError(Exception):
    """An agent cannot be used. The text tells the model why."""


@frozen_dataclass
class AgentSources:
    """Where the agents of a session come from, and what decides whether they may be used."""

    places: Sequence[FilePlace]
    is_trusted: Callable[[], bool]
    """Returns whether the workspace is trusted. May block."""
    reader: AgentReader
    watch: FileWatch | None
    explore_model: str | None = None
    """The model of the built-in agent; None for the session's."""


class SessionAgents:
    """The agents of one session."""

    def __init__(
        self, sources: AgentSources, describe_tools: Callable[[ToolSelection], str]
    ) -> None:
        """Prepare; nothing is read yet.

        `describe_tools` returns the tools of an agent, and those that it is not given, for the
        user.
        """
        self._sources = sources
        self._describe_tools = describe_tools
        self._followed = FollowedPlaces(sources.places, sources.watch, self.refresh)
        self._usable: Sequence[AgentDefinition] = ()
        self._waiting: Sequence[AgentDefinition] = ()
        self._refused: Sequence[RefusedAgent] = ()
        self._listing = ""
        self._announced: frozenset[str] = frozenset()

    async def load(self) -> None:
        """Find the agents, and follow their changes from now on."""
        await self._followed.follow()
        await self.refresh()
        self.list_again()

    async def refresh(self) -> None:
        """Find the agents again."""

        def find() -> tuple[FoundAgents, bool]:
            return self._sources.reader.find(self._sources.places), self._sources.is_trusted()

        found, is_trusted = await to_thread.run_sync(find)
        self._usable = [each for each in found.agents if is_trusted or each.is_users]
        self._waiting = [each for each in found.agents if not (is_trusted or each.is_users)]
        self._refused = found.refused

    def untrusted_names(self) -> Sequence[str]:
        """Return the names of the agents that wait for trust."""
        return [each.name for each in self._waiting]

    def describe(self) -> str:
        """Return a Markdown list of the agents, their files and tools, and the refused files."""
        lines = [
            f"- `{each.name}`: {each.path}; {self._describe_tools(each.tools)}"
            for each in self._usable
        ]
        lines += [f"- `{each.name}`: {each.path} ({WAITING})" for each in self._waiting]
        lines += [f"- not used: {each.path}: {each.reason}" for each in self._refused]
        return "\n".join([HEADING, "", *lines]) if lines else ""

    @property
    def listing(self) -> str:
        """The agents for the model, a line each; empty if the user has set up none."""
        return self._listing

    @property
    def digest(self) -> str:
        """A digest of the list; empty if there is none."""
        text = self._listing
        return hashlib.sha256(text.encode()).hexdigest()[:16] if text else ""

    def list_again(self) -> None:
        """Take over the present agents into the list."""
        has_any = self._usable or self._sources.explore_model
        self._listing = _list_agents([*self._usable, *self._built_in()]) if has_any else ""
        self._announced = self._present_names()

    def take_notices(self) -> Sequence[str]:
        """Return a notice of the agents that came or went since the last one."""
        before, now = self._announced, self._present_names()
        self._announced = now
        parts = {"New": now - before, "Gone": before - now}
        changes = "; ".join(
            f"{kind}: {', '.join(sorted(names))}" for kind, names in parts.items() if names
        )
        return [CHANGED.format(changes=changes)] if changes else ()

    async def resolve(self, given: str) -> AgentDefinition | None:
        """Return the agent of a name, from its file as it is now; None for no special one.

        Raises:
            AgentError: there is none, or it may not be used.
        """
        name = to_name(given)
        if name in NO_SPECIAL_AGENT and name not in self._present_names():
            return None
        agents = self._by_name()
        if name not in agents:  # it may have come a moment ago
            await self.refresh()
            agents = self._by_name()
        if name in self.untrusted_names():
            raise AgentError(UNTRUSTED.format(name=name))
        agent = agents.get(name)
        refused = (each.reason for each in self._refused if to_name(each.path.stem) == name)
        if agent is None and (reason := next(refused, "")):
            raise AgentError(GONE.format(name=given, reason=reason))
        if agent is None:
            raise AgentError(UNKNOWN.format(name=given, known=", ".join(agents)))
        return await to_thread.run_sync(self._read_again, agent)

    def close(self) -> None:
        """Stop following changes."""
        self._followed.close()

    def _read_again(self, agent: AgentDefinition) -> AgentDefinition:
        """Return an agent as its file defines it now. Blocks.

        Raises:
            AgentError: it defines none any more, or was blocked.
        """
        path = agent.path
        if path is None:
            return agent
        place = next(each for each in self._sources.places if path.is_relative_to(each.directory))
        read = self._sources.reader.read(path, place, lambda _: False)
        if isinstance(read, RefusedAgent):
            raise AgentError(GONE.format(name=agent.name, reason=read.reason))
        return replace(read, name=agent.name)

    def _built_in(self) -> Sequence[AgentDefinition]:
        return [
            replace(each, model=self._sources.explore_model) if each.name == EXPLORE else each
            for each in built_in_agents()
        ]

    def _by_name(self) -> dict[str, AgentDefinition]:
        return {each.name: each for each in (*self._built_in(), *self._usable)}

    def _present_names(self) -> frozenset[str]:
        return frozenset(each.name for each in self._usable)


def _list_agents(agents: Sequence[AgentDefinition]) -> str:
    for length in SHORT_CHARACTERS:
        text = "\n".join(_list_line(each, length) for each in agents)
        if len(text) <= MAX_LISTED_CHARACTERS:
            return text
    return "\n".join(f"- {each.name}" for each in agents)[:MAX_LISTED_CHARACTERS]


def _list_line(agent: AgentDefinition, max_characters: int) -> str:
    return f"- {agent.name}: {to_single_line(agent.description, max_characters)}"
