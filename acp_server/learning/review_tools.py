"""The tools of a background run: built for one run, with its own gate and skill editor.

These tools change memory and skills without asking the user. They are built here and given to one
run only; the tools of a turn are built elsewhere (`tools.factory`) and ask.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from acp_server.learning.background_gate import BackgroundGate
from acp_server.learning.background_skills import BackgroundSkills
from acp_server.memory.config import MemoryConfig
from acp_server.memory.provider import MirrorWrite, ignore_write
from acp_server.memory.store import MemoryStores
from acp_server.permissions.gate import Gate
from acp_server.session.workspace import SessionWorkspace
from acp_server.skills.service import SkillService
from acp_server.tools.dialects.paths import PathCorrector
from acp_server.tools.dialects.toolbox import DialectToolbox
from acp_server.tools.memory.memory import memory_tool
from acp_server.tools.skills.skill_manage import skill_manage_tool
from acp_server.tools.skills.skill_view import skill_view_tool
from acp_server.tools.skills.skills_list import skills_list_tool
from acp_server.tools.tool import Tool
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import Toolbox, ToolOutcome
from prompt_engine.threats import scan
from skills_store.background_editor import BackgroundSkillEditor
from skills_store.changes import ManageAction, SkillChange
from skills_store.curation.merging import CuratorSkillEditor
from skills_store.curation.schedule import CurationSchedule
from skills_store.viewing import ViewContext

ACTION_VERBS: dict[ManageAction, str] = {
    "create": "created",
    "patch": "changed",
    "edit": "changed",
    "write_file": "changed",
    "remove_file": "changed",
    "delete": "archived",
}


@dataclass(slots=True)
class ReviewTools:
    """The tools of one review, and a record of the changes made with them."""

    toolbox: Toolbox
    skill_editor: BackgroundSkillEditor
    memory_changes: int = 0

    def record_outcome(self, call: ToolCall, outcome: ToolOutcome) -> None:
        """Count a successful change of the memory; the skill editor records skill changes."""
        if call.name == "memory" and not outcome.is_error:
            self.memory_changes += 1

    def save_overlaps(self, overlaps: Sequence[str]) -> None:
        """Store for the curator which skills overlap. Blocks.

        Raises:
            OSError: the file cannot be written.
        """
        CurationSchedule(self.skill_editor.home).record_overlaps(overlaps)

    def describe_changes(self) -> Sequence[str]:
        """Return one phrase for each kind of change, then one that says how to undo them."""
        undo_commands: list[str] = []
        phrases = list(describe_skill_changes(self.skill_editor.changes))
        if phrases:
            undo_commands.append(f"`acp-server skills restore {self.skill_editor.undo_id}`")
        if self.memory_changes:
            phrases.append(f"changed the memory ({self.memory_changes})")
            undo_commands.append("`acp-server memory undo`")
        return (*phrases, f"to undo: {' and '.join(undo_commands)}") if phrases else ()


def build_review_tools(
    skill_service: SkillService,
    memory: MemoryConfig,
    workspace: Path,
    gate: BackgroundGate,
    mirror: MirrorWrite = ignore_write,
) -> ReviewTools:
    """Return the tools for a review of a session in `workspace`. Blocks."""
    # The skills of a workspace without trust are untrusted text: a review must not act on them,
    # since no user is asked.
    trusted = workspace if skill_service.is_trusted(workspace) else None
    editor = BackgroundSkillEditor(skill_service.home, lambda: skill_service.roots(trusted))
    skills = build_background_skills(skill_service, editor, trusted)
    tools = list(_build_skill_tools(skills, gate))
    # Without limits, memory is switched off.
    if memory.limits:
        store = MemoryStores(skill_service.home, memory.limits, scan)
        tools.append(memory_tool(store, gate, mirror, needs_permission=memory.needs_permission))
    return ReviewTools(_accepting_other_names(tools, gate, workspace), editor)


def build_curator_toolbox(
    skill_service: SkillService, editor: CuratorSkillEditor, gate: Gate
) -> Toolbox:
    """Return the tools of a curator run."""
    skills = build_background_skills(skill_service, editor, None)
    return _accepting_other_names(_build_skill_tools(skills, gate), gate, skill_service.home)


def _accepting_other_names(tools: Sequence[Tool], gate: Gate, workspace: Path) -> Toolbox:
    """Return a toolbox whose tools may also be called as those of other agents."""
    names = frozenset(tool.spec.name for tool in tools)
    paths = PathCorrector(SessionWorkspace(workspace), workspace)
    return DialectToolbox(SessionToolbox(tools, gate), names, gate, paths)


def build_background_skills(
    skill_service: SkillService, editor: BackgroundSkillEditor, workspace: Path | None
) -> BackgroundSkills:
    """Return the skills of a trusted workspace, or only the user's, for a background run."""
    return BackgroundSkills(
        skill_service.skill_roots(workspace),
        editor,
        skill_service.visibility_facts(None),
        ViewContext(skill_service.environment),
        skill_service.content_trust.is_trusted,
    )


def _build_skill_tools(skills: BackgroundSkills, gate: Gate) -> tuple[Tool, ...]:
    return (
        skills_list_tool(skills),
        skill_view_tool(skills),
        skill_manage_tool(skills, gate),
    )


def describe_skill_changes(changes: Sequence[SkillChange]) -> tuple[str, ...]:
    """Summarize changes: each verb with the names of its skills."""
    names: dict[str, dict[str, None]] = {}
    for change in changes:
        names.setdefault(ACTION_VERBS[change.action], {})[change.name] = None
    created = names.get("created", {})
    # A skill created in this run is not also reported as changed.
    changed = {name: None for name in names.get("changed", {}) if name not in created}
    names_by_verb = {**names, "changed": changed}
    return tuple(f"{verb} {', '.join(skills)}" for verb, skills in names_by_verb.items() if skills)
