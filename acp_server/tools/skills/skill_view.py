"""The tool `skill_view`: loads a skill, or one of its files. Results are JSON."""

import json
from functools import partial
from typing import assert_never

from pydantic import Field, JsonValue

from acp_server.skills.access import SkillAccess
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.skills.variable_requests import VariableRequests
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.call_access import READS
from acp_server.turn.conversation import Text
from acp_server.turn.events import Location
from acp_server.turn.ports import ToolOutcome
from skills_store.errors import SkillError
from skills_store.skill import SKILL_FILE
from skills_store.viewing import BinaryFileView, SkillView, TextFileView

DESCRIPTION = "Load a skill: its SKILL.md and a list of its files."


class SkillViewArguments(Arguments):
    """A skill, and perhaps one of its files."""

    name: str = Field(description="the skill")
    file_path: str | None = Field(default=None, description="load this file of it instead")


class SkillViewUse(TypedToolUse[SkillViewArguments]):
    """One call of `skill_view`."""

    usual_access = READS

    def __init__(
        self, skills: SkillAccess, variables: VariableRequests | None, reporter: CallReporter
    ) -> None:
        super().__init__(SkillViewArguments, reporter)
        self._skills = skills
        self._variables = variables

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the skill and the file as the title."""
        name, path = so_far.complete_text("name"), so_far.complete_text("file_path")
        return CallDescription(_title(name, path)) if name else None

    async def run(self, arguments: SkillViewArguments) -> ToolOutcome:
        """Load it. The user sees the path as a location to open, not the content."""
        name, path = arguments.name.removeprefix("/"), arguments.file_path
        if path in {None, "", SKILL_FILE}:
            path = None
        try:
            if path is None:
                view, notes = await self._skills.view(name), ()
                if self._variables is not None:
                    view, notes = await self._variables.prepare(view, self.reporter.call_id)
                answer, location = skill_json(view), str(view.folder / SKILL_FILE)
            else:
                file, notes = await self._skills.view_file(name, path), ()
                answer, location = skill_file_json(file), str(file.absolute_path)
        except SkillError as error:
            return failure_outcome(str(error))
        await self.reporter.mark_in_progress()
        title = _title(name, path)
        await self.reporter.describe(title, (Location(location),))
        text = json.dumps(answer, ensure_ascii=False)
        return ToolOutcome(text, shown=(Text(f"{title}: `{location}`"), *map(Text, notes)))


def failure_outcome(reason: str) -> ToolOutcome:
    """Return a failure as JSON for the model and as text for the user."""
    answer = json.dumps({"success": False, "error": reason}, ensure_ascii=False)
    return ToolOutcome(answer, is_error=True, shown=(Text(reason),))


def _title(name: str, path: str | None) -> str:
    if path is None or path == SKILL_FILE:
        return f"Load the skill {name}"
    return f"Read {path} of the skill {name}"


def skill_json(view: SkillView) -> dict[str, JsonValue]:
    """Return a skill as the JSON object for the model; empty lists are left out."""
    files = view.linked_files
    linked: dict[str, JsonValue] = {
        directory: [*paths] for directory, paths in files.by_folder.items()
    }
    if files.others:
        linked["others"] = [*files.others]
    answer: dict[str, JsonValue] = {
        "success": True,
        "name": view.name,
        "description": view.description,
        "content": view.content,
        "skill_dir": str(view.folder),
        "linked_files": linked,
    }
    needs = view.needs
    extras: dict[str, JsonValue] = {
        "missing_commands": [*view.missing_commands],
        "missing_environment_variables": [*view.missing_variables],
        "moved_skills": [moved.describe() for moved in view.archived_related_skills],
        "config": dict(needs.settings),
        "missing_config": [*needs.unset_settings],
        "credential_files": [*needs.credential_files],
        "missing_credential_files": [*needs.missing_credential_files],
        "variable_help": dict(needs.variable_help),
        "setup_help": needs.setup_help,
        "environment_variables": dict(needs.variable_notes),
        "tools": dict(needs.tool_notes),
        "warnings": [f"line {each.line}: {each.text}" for each in view.problems],
    }
    return answer | {name: each for name, each in extras.items() if each}


def skill_file_json(view: TextFileView | BinaryFileView) -> dict[str, JsonValue]:
    """Return a skill's file as the JSON object for the model; a binary file without content."""
    answer: dict[str, JsonValue] = {"success": True, "name": view.name, "file_path": view.path}
    match view:
        case TextFileView():
            return answer | {"content": view.content}
        case BinaryFileView():
            facts = {"media_type": view.media_type, "path": str(view.absolute_path)}
            return answer | {"is_binary": True, "size_bytes": view.size_bytes} | facts
        case _:
            assert_never(view)


def skill_view_tool(skills: SkillAccess, variables: VariableRequests | None = None) -> Tool:
    """Return the tool for a session, or for a background run, which requests no variables."""
    spec = build_spec("skill_view", DESCRIPTION, SkillViewArguments)
    return Tool(spec, "read", "Load a skill", partial(SkillViewUse, skills, variables))
