"""Definitions of sub-agents in Markdown files: description, tools, model and prompt. It blocks.

Formats: https://docs.anthropic.com/en/docs/claude-code/sub-agents, https://opencode.ai/docs/agents
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import JsonValue

from acp_server.permissions.file_stamp import FileStamp, file_stamp
from acp_server.project_files.places import (
    FilePlace,
    MarkdownText,
    choose_name,
    chosen_model,
    list_files,
    places_of,
    read_markdown,
)
from acp_server.project_files.screening import IsTextTrusted, find_block
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.subagents.agent import AgentDefinition, ToolSelection
from acp_server.text.lines import to_single_line

MAX_DESCRIPTION_CHARACTERS = 300
EXPLORE = "explore"
_EXPLORE_DESCRIPTION = "answers a question about the code by searching and reading; changes nothing"
UNREADABLE = "it cannot be read as text of at most 256 KiB"
NO_FRONTMATTER = "it has no frontmatter, so it defines no agent"
NO_DESCRIPTION = "its frontmatter has no description"
NO_PROMPT = "it has no prompt below its frontmatter"
PRIMARY = "it is for a primary agent (`mode: primary`), not for a sub-agent"
DISABLED = "it is switched off by its frontmatter"
NO_NAME = "its name is no name for an agent, or is taken"


@frozen_dataclass
class RefusedAgent:
    """A file in a place of agents that defines none."""

    path: Path
    reason: str
    is_users: bool


@frozen_dataclass
class FoundAgents:
    """The agents of some places, and the files that were refused."""

    agents: Sequence[AgentDefinition] = ()
    refused: Sequence[RefusedAgent] = ()


@cache
def built_in_agents() -> Sequence[AgentDefinition]:
    """Return the agents that need no file."""
    prompt = Path(__file__).with_name("text").joinpath("explore.md").read_text("utf-8")
    tools = ToolSelection(("read_file", "search_files", "symbols"))
    return (AgentDefinition(EXPLORE, _EXPLORE_DESCRIPTION, prompt, tools),)


def agent_places(workspace: Sequence[Path], user_home: Path, home: Path) -> list[FilePlace]:
    """Return the places of the roots of a workspace, then those of the user.

    `home` is HERMES_HOME.
    """
    table = Path(__file__).with_name("locations.toml")
    return places_of(table, "agents", workspace, user_home, home)


class AgentReader:
    """Reads definitions; a file that did not change is parsed and scanned once for all sessions."""

    def __init__(self, is_text_trusted: IsTextTrusted) -> None:
        self._is_text_trusted = is_text_trusted
        self._known: dict[Path, tuple[FileStamp, AgentDefinition]] = {}

    def find(self, places: Sequence[FilePlace]) -> FoundAgents:
        """Return the agents of some places, each with a name of its own."""
        found: dict[str, AgentDefinition] = {each.name: each for each in built_in_agents()}
        refused: list[RefusedAgent] = []
        for place in places:
            for path in list_files(place):
                agent = self.read(path, place, found.__contains__)
                if isinstance(agent, RefusedAgent):
                    refused.append(agent)
                else:
                    found[agent.name] = agent
        return FoundAgents([each for each in found.values() if each.path is not None], refused)

    def read(
        self, path: Path, place: FilePlace, is_taken: Callable[[str], bool]
    ) -> AgentDefinition | RefusedAgent:
        """Return the agent that a file defines, under a name that is not taken."""
        stamp, known = file_stamp(path), self._known.get(path)
        agent = (
            known[1]
            if known is not None and known[0] == stamp
            else _parse(path, place, self._is_text_trusted)
        )
        if isinstance(agent, RefusedAgent):  # not kept: the user may come to trust it
            return agent
        if stamp is not None:
            self._known[path] = (stamp, agent)
        name = choose_name(agent.name, path, place, is_taken)
        return (
            RefusedAgent(path, NO_NAME, place.is_users)
            if name is None
            else replace(agent, name=name)
        )


def _parse(
    path: Path, place: FilePlace, is_text_trusted: IsTextTrusted
) -> AgentDefinition | RefusedAgent:
    """Return the agent that a file defines, under the name that it gives itself."""
    text = read_markdown(path, place)
    reason = UNREADABLE if text is None else _reason_to_refuse(text)
    if text is not None and not reason:
        reason = find_block(path, text, is_text_trusted) or ""
    if text is None or reason:
        return RefusedAgent(path, reason, place.is_users)
    values = text.values
    given = values.get("name")
    return AgentDefinition(
        given if isinstance(given, str) else path.name.removesuffix(place.suffix),
        to_single_line(str(values["description"]), MAX_DESCRIPTION_CHARACTERS),
        text.body,
        _tools_of(values),
        chosen_model(values.get("model")),
        values.get("isolation") == "worktree",
        path,
        place.is_users,
    )


def _reason_to_refuse(text: MarkdownText) -> str:
    """Return why a file defines no sub-agent; empty if it does."""
    values = text.values
    description = values.get("description")
    reasons = (
        (not values, NO_FRONTMATTER),
        (not isinstance(description, str) or not description.strip(), NO_DESCRIPTION),
        (values.get("disable") is True, DISABLED),
        (values.get("mode") == "primary", PRIMARY),
        (not text.body, NO_PROMPT),
    )
    return next((reason for applies, reason in reasons if applies), "")


def _tools_of(values: Mapping[str, JsonValue]) -> ToolSelection:
    """Return the tools in Claude Code's form, a list, or in opencode's, an object of switches."""
    tools = values.get("tools")
    allowed: tuple[str, ...] | None = None
    denied = [*_names(values.get("disallowedTools")), *_denied(values.get("permission"))]
    if isinstance(tools, dict):
        denied += [name for name, is_on in tools.items() if is_on is False and name != "*"]
        if tools.get("*") is False:
            allowed = tuple(name for name, is_on in tools.items() if is_on is True)
    elif tools is not None and tools != "":
        allowed = tuple(_names(tools))
        allowed = None if "*" in allowed else allowed
    return ToolSelection(allowed, tuple(denied))


def _denied(permission: JsonValue) -> Iterator[str]:
    """Yield the tools that opencode's permissions deny.

    A tool of which only some uses are denied is denied: nothing here could tell these uses apart.
    """
    if not isinstance(permission, dict):
        return
    for name, answer in permission.items():
        if answer == "deny" or (isinstance(answer, dict) and "deny" in answer.values()):
            yield name


def _names(value: JsonValue) -> Sequence[str]:
    """Return the names in a list, or in a text that is split at commas outside of brackets."""
    if isinstance(value, list):
        return [str(each).strip() for each in value]
    if not isinstance(value, str):
        return ()
    names, depth = [""], 0
    for character in value.strip().removeprefix("[").removesuffix("]"):
        depth += (character == "(") - (character == ")")
        if character == "," and depth <= 0:
            names.append("")
        else:
            names[-1] += character
    return [name.strip(" \t\n\"'") for name in names if name.strip(" \t\n\"'")]
