"""The tools of a pass, made for it alone: with its gate, its keeper, and nothing of a session's.

Whoever calls these tools changes memory and skills unasked. They are made here and handed to one
pass; what a turn calls is made elsewhere (`tools.kit`) and asks.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_server.evolution.gate import UnaskedGate
from acp_server.evolution.pass_skills import PassSkills
from acp_server.memory.store import Memory
from acp_server.permissions.gate import Gate
from acp_server.skills.room import SkillRoom
from acp_server.tools.loading import MemoryPremises
from acp_server.tools.memory import memory_tool
from acp_server.tools.skill_manage import skill_manage_tool
from acp_server.tools.skill_view import skill_view_tool
from acp_server.tools.skills_list import skills_list_tool
from acp_server.tools.tool import Tool
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import Outcome
from prompt_engine.threats import scan
from skills_store import Viewer
from skills_store.changes import Action, Change
from skills_store.curation import CuratorKeeper, Schedule
from skills_store.unasked import UnaskedKeeper

DONE: dict[Action, str] = {
    "create": "created",
    "patch": "changed",
    "edit": "changed",
    "write_file": "changed",
    "remove_file": "changed",
    "delete": "archived",
}


@dataclass(slots=True)
class ReviewBench:
    """The tools of a review."""

    toolbox: SessionToolbox
    keeper: UnaskedKeeper
    memory_changes: int = 0

    def note(self, call: ToolCall, outcome: Outcome) -> None:
        """Count what was remembered; of skills, the keeper knows."""
        if call.name == "memory" and not outcome.is_error:
            self.memory_changes += 1

    def note_overlaps(self, overlaps: Sequence[str]) -> None:
        """Keep for the curator which skills overlap. Blocks.

        Raises:
            OSError: it cannot be written.
        """
        Schedule(self.keeper.home).note_overlaps(overlaps)

    def changes(self) -> Sequence[str]:
        """Return what was changed, a phrase for each thing, and last how it is undone."""
        ways: list[str] = []
        said = list(phrases(self.keeper.made))
        if said:
            ways.append(f"`acp-server skills restore {self.keeper.undo_id}`")
        if self.memory_changes:
            said.append(f"changed the memory ({self.memory_changes})")
            ways.append("`acp-server memory undo`")
        return (*said, f"to undo: {' and '.join(ways)}") if said else ()


def review_bench(
    room: SkillRoom, memory: MemoryPremises, workspace: Path, gate: UnaskedGate
) -> ReviewBench:
    """Return the tools of a review of a session in a folder. Blocks."""
    trusted = workspace if room.is_trusted(workspace) else None
    keeper = UnaskedKeeper(room.home, lambda: room.roots(trusted))
    skills = pass_skills(room, keeper, trusted)
    tools = list(_skill_tools(skills, gate))
    if memory.limits:
        store = Memory(room.home, memory.limits, scan)
        tools.append(memory_tool(store, gate, asks_first=memory.asks_first))
    return ReviewBench(SessionToolbox(tools, gate), keeper)


def curator_toolbox(room: SkillRoom, keeper: CuratorKeeper, gate: Gate) -> SessionToolbox:
    """Return the tools of a curator."""
    skills = pass_skills(room, keeper, None)
    return SessionToolbox(_skill_tools(skills, gate), gate)


def pass_skills(room: SkillRoom, keeper: UnaskedKeeper, workspace: Path | None) -> PassSkills:
    """Return the skills of a trusted workspace, or of none, for a pass."""
    return PassSkills(
        room.shelf(workspace),
        keeper,
        room.circumstances(None),
        Viewer(room.environment),
        room.content_trust.is_given,
    )


def _skill_tools(skills: PassSkills, gate: Gate) -> tuple[Tool, ...]:
    return (
        skills_list_tool(skills),
        skill_view_tool(skills),
        skill_manage_tool(skills, gate),
    )


def phrases(made: Sequence[Change]) -> tuple[str, ...]:
    """Return what changes come to: each verb with the names of its skills."""
    names: dict[str, dict[str, None]] = {}
    for change in made:
        names.setdefault(DONE[change.action], {})[change.name] = None
    created = names.get("created", {})
    changed = {name: None for name in names.get("changed", {}) if name not in created}
    told = {**names, "changed": changed}
    return tuple(f"{verb} {', '.join(skills)}" for verb, skills in told.items() if skills)
