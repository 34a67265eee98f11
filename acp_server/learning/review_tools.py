"""The tools of a background run: built for one run, with its own gate and skill editor.

These tools change memory and skills without asking the user. They are built here and given to one
run only; the tools of a turn are built elsewhere (`tools.factory`) and ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_server.learning.background_gate import UnaskedGate
from acp_server.learning.background_skills import PassSkills
from acp_server.memory.store import Memory
from acp_server.permissions.gate import Gate
from acp_server.skills.service import SkillRoom
from acp_server.tools.lazy_imports import MemoryPremises
from acp_server.tools.memory.memory import memory_tool
from acp_server.tools.skills.skill_manage import skill_manage_tool
from acp_server.tools.skills.skill_view import skill_view_tool
from acp_server.tools.skills.skills_list import skills_list_tool
from acp_server.tools.tool import Tool
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import Outcome
from prompt_engine.threats import scan
from skills_store import Viewer
from skills_store.background_editor import UnaskedKeeper
from skills_store.changes import Action, Change
from skills_store.curation import CuratorKeeper, Schedule

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
    """The tools of one review, and a record of the changes made with them."""

    toolbox: SessionToolbox
    keeper: UnaskedKeeper
    memory_changes: int = 0

    def note(self, call: ToolCall, outcome: Outcome) -> None:
        """Count a successful change of the memory; the skill editor records skill changes."""
        if call.name == "memory" and not outcome.is_error:
            self.memory_changes += 1

    def note_overlaps(self, overlaps: Sequence[str]) -> None:
        """Store for the curator which skills overlap. Blocks.

        Raises:
            OSError: the file cannot be written.
        """
        Schedule(self.keeper.home).note_overlaps(overlaps)

    def changes(self) -> Sequence[str]:
        """Return one phrase for each kind of change, then one that says how to undo them."""
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
    """Return the tools for a review of a session in `workspace`. Blocks."""
    # The skills of a workspace without trust are untrusted text: a review must not act on them,
    # since no user is asked.
    trusted = workspace if room.is_trusted(workspace) else None
    keeper = UnaskedKeeper(room.home, lambda: room.roots(trusted))
    skills = pass_skills(room, keeper, trusted)
    tools = list(_skill_tools(skills, gate))
    # Without limits, memory is switched off.
    if memory.limits:
        store = Memory(room.home, memory.limits, scan)
        tools.append(memory_tool(store, gate, asks_first=memory.asks_first))
    return ReviewBench(SessionToolbox(tools, gate), keeper)


def curator_toolbox(room: SkillRoom, keeper: CuratorKeeper, gate: Gate) -> SessionToolbox:
    """Return the tools of a curator run."""
    skills = pass_skills(room, keeper, None)
    return SessionToolbox(_skill_tools(skills, gate), gate)


def pass_skills(room: SkillRoom, keeper: UnaskedKeeper, workspace: Path | None) -> PassSkills:
    """Return the skills of a trusted workspace, or only the user's, for a background run."""
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
    """Summarize changes: each verb with the names of its skills."""
    names: dict[str, dict[str, None]] = {}
    for change in made:
        names.setdefault(DONE[change.action], {})[change.name] = None
    created = names.get("created", {})
    # A skill created in this run is not also reported as changed.
    changed = {name: None for name in names.get("changed", {}) if name not in created}
    told = {**names, "changed": changed}
    return tuple(f"{verb} {', '.join(skills)}" for verb, skills in told.items() if skills)
