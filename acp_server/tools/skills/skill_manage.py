"""The tool `skill_manage`: creates, changes and archives skills, with the user's permission.

A change is planned and shown before permission is asked; afterwards exactly this change is applied,
or none. The skill guard scans each change: a suspicious one needs permission in every mode. Results
are JSON.
"""

import json
import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from anyio import to_thread
from pydantic import Field

from acp_server.permissions.effects import ChangeSkill, FileTarget
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.skills.access import SkillAccess
from acp_server.skills.change_screening import find_doubts
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.diffs import exact_diff
from acp_server.tools.edit.growing_diff import GrowingDiff, TextPreview
from acp_server.tools.errors import RefusedError
from acp_server.tools.skills.skill_view import failure_outcome
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind, Location
from acp_server.turn.ports import ToolOutcome
from skills_store.calls import ManageCall
from skills_store.changes import ManageAction, SkillChange
from skills_store.errors import SkillError
from skills_store.skill import SKILL_FILE

DESCRIPTION = (
    "Create or change skills. Create one for a method that will be needed again, not for one-offs. "
    "A good skill has triggers, numbered steps with exact commands, pitfalls and checks. Files of "
    "a skill: references/ (details), templates/ (to copy), scripts/ (to run), assets/ (other). "
    "Name each in SKILL.md. If the user did not ask for it, ask before you create or delete a "
    "skill. delete archives it."
)
KIND: CallKind = "edit"
MAX_DOUBTS = 3

_TITLES: Mapping[ManageAction, str] = {
    "create": "Create the skill {name}",
    "patch": "Patch {file}the skill {name}",
    "edit": "Rewrite the skill {name}",
    "delete": "Archive the skill {name}",
    "write_file": "Write {file}the skill {name}",
    "remove_file": "Remove {file}the skill {name}",
}
_STREAMED_ARGUMENTS: Mapping[str, str] = {
    "create": "content",
    "edit": "content",
    "write_file": "file_content",
}
"""The argument by action whose text is shown as a growing diff while it is streamed."""


class SkillManageArguments(Arguments):
    """An action and the skill it applies to.

    The long texts come last, so that the title is known before they are streamed.
    """

    action: ManageAction = Field(description="edit replaces all of SKILL.md, patch a part")
    name: str = Field(description="the skill")
    category: str | None = Field(default=None, description="create: its category")
    file_path: str | None = Field(
        default=None, description="file of the skill (patch: default SKILL.md)"
    )
    old_string: str | None = Field(default=None, description="patch: exact old text")
    new_string: str | None = Field(default=None, description="patch: its new text")
    replace_all: bool = Field(
        default=False, description="patch: replace it everywhere (default false)"
    )
    absorbed_into: str | None = Field(
        default=None, description="delete: the skill that has its content now"
    )
    content: str | None = Field(
        default=None, description="create, edit: whole SKILL.md, with frontmatter"
    )
    file_content: str | None = Field(default=None, description="write_file: the text")


class SkillManageUse(TypedToolUse[SkillManageArguments]):
    """One call of `skill_manage`."""

    def __init__(
        self, skills: SkillAccess, gate: Gate, roots: Sequence[Path], reporter: CallReporter
    ) -> None:
        super().__init__(SkillManageArguments, reporter)
        self._skills = skills
        self._gate = gate
        self._roots = roots
        self._growing_diff = GrowingDiff(reporter)

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the action and the skill as the title, once both are known."""
        name = so_far.complete_text("name")
        title = next(
            (_TITLES[each] for each in _TITLES if each == so_far.complete_text("action")), None
        )
        if title is None or name is None:
            return None
        path = so_far.complete_text("file_path")
        return CallDescription(title.format(name=name, file=f"{path} of " if path else ""))

    async def draft(self, so_far: PartialArguments) -> None:
        """Update the title, then show the part of the text that was received."""
        await super().draft(so_far)
        argument = _STREAMED_ARGUMENTS.get(so_far.complete_text("action") or "")
        text = so_far.text(argument) if argument else ""
        if text:
            await self._growing_diff.show_text(text, partial(self._load_base, so_far))

    async def run(self, arguments: SkillManageArguments) -> ToolOutcome:
        """Plan the change, ask permission, apply it."""
        try:
            change = await self._skills.plan(ManageCall(**arguments.model_dump()))
            blocks = tuple(
                block
                for each in change.diffs
                for block in exact_diff(str(each.path), each.old, each.new or "")
            )
            await self.reporter.describe(_title(change), _locations(change))
            await self.reporter.show(blocks)
            found = await to_thread.run_sync(find_doubts, change)
            doubts = tuple(str(each) for each in found[:MAX_DOUBTS])
            effect = ChangeSkill(self._targets(change), doubts)
            question = PermissionQuestion(
                self.reporter.call_id, effect, _title(change), KIND, blocks, _locations(change)
            )
            await self.require_permission(self._gate, question)
            result = await self._skills.commit(change)
        except (RefusedError, SkillError, OSError) as error:
            return failure_outcome(str(error))
        answer = {"success": True, "message": result.message, "skill_dir": str(change.folder)}
        text = json.dumps(answer, ensure_ascii=False)
        return ToolOutcome(text, shown=(*blocks, Text(result.message)))

    def _targets(self, change: SkillChange) -> tuple[FileTarget, ...]:
        """Return the files of a change in the form that the permission gate judges."""
        roots = [Path(os.path.realpath(root)) for root in self._roots]
        return tuple(
            FileTarget(path, real, any(map(real.is_relative_to, roots)))
            for path, real in zip(change.paths, change.resolved_paths, strict=True)
        )

    async def _load_base(self, so_far: PartialArguments) -> TextPreview | None:
        """Return the path that a streamed text will be written to, and its current text.

        None if the skill is not known yet. The text is None if there is no such file.
        """
        name = so_far.complete_text("name")
        if name is None:
            return None
        if so_far.complete_text("action") == "create":
            folder = self._skills.home / (so_far.complete_text("category") or "") / name
            return TextPreview(folder / SKILL_FILE, None)
        path = so_far.complete_text("file_path") or SKILL_FILE
        found = await self._skills.text_of(name, path)
        return None if found is None else TextPreview(*found)


def _title(change: SkillChange) -> str:
    name = change.diffs[0].path.relative_to(change.folder).as_posix() if change.diffs else ""
    file = f"{name} of " if name not in {"", SKILL_FILE} else ""
    return _TITLES[change.action].format(name=change.name, file=file)


def _locations(change: SkillChange) -> tuple[Location, ...]:
    return tuple(Location(str(each.path)) for each in change.diffs)


def skill_manage_tool(skills: SkillAccess, gate: Gate, roots: Sequence[Path] = ()) -> Tool:
    """Return the tool; `roots` are the workspace directories of the calling session."""
    spec = build_spec("skill_manage", DESCRIPTION, SkillManageArguments, streams=True)
    use = partial(SkillManageUse, skills, gate, roots)
    return Tool(spec, KIND, "Change a skill", use)
