"""The tool `skill_view`: loads a skill, or one of its files. Results are JSON."""

import json
from functools import partial
from typing import assert_never

from pydantic import JsonValue

from acp_server.skills.access import SkillAccess
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Text
from acp_server.turn.events import Location
from acp_server.turn.ports import Outcome
from skills_store import BinaryFileView, SkillError, SkillView, TextFileView
from skills_store.skill import SKILL_FILE

DESCRIPTION = (
    "Load a skill: its SKILL.md and the files that go with it. With file_path, one of those."
)


class ViewSkillArguments(Arguments):
    """A skill, and perhaps one of its files."""

    name: str
    file_path: str | None = None


class ViewSkillUse(Use[ViewSkillArguments]):
    """One call of `skill_view`."""

    def __init__(self, skills: SkillAccess, report: Report) -> None:
        super().__init__(ViewSkillArguments, report)
        self._skills = skills

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the skill and the file as the title."""
        name, path = so_far.whole("name"), so_far.whole("file_path")
        return Description(_title(name, path)) if name else None

    async def run(self, arguments: ViewSkillArguments) -> Outcome:
        """Load it. The user sees the path as a location to open, not the content."""
        await self.report.begin()
        name, path = arguments.name.removeprefix("/"), arguments.file_path
        if path in {None, "", SKILL_FILE}:
            path = None
        try:
            if path is None:
                view = await self._skills.view(name)
                return await self._done(answer_of(view), str(view.folder / SKILL_FILE), name, path)
            file = await self._skills.view_file(name, path)
        except SkillError as error:
            return failed(str(error))
        return await self._done(file_answer_of(file), str(file.place), name, path)

    async def _done(
        self, answer: dict[str, JsonValue], place: str, name: str, path: str | None
    ) -> Outcome:
        title = _title(name, path)
        await self.report.describe(title, (Location(place),))
        text = json.dumps(answer, ensure_ascii=False)
        return Outcome(text, shown=(Text(f"{title}: `{place}`"),))


def failed(reason: str) -> Outcome:
    """Return a failure as JSON for the model and as text for the user."""
    answer = json.dumps({"success": False, "error": reason}, ensure_ascii=False)
    return Outcome(answer, is_error=True, shown=(Text(reason),))


def _title(name: str, path: str | None) -> str:
    if path is None or path == SKILL_FILE:
        return f"Load the skill {name}"
    return f"Read {path} of the skill {name}"


def answer_of(view: SkillView) -> dict[str, JsonValue]:
    """Return a skill as the JSON object for the model; empty lists are left out."""
    files = view.linked_files
    linked: dict[str, JsonValue] = {top: [*paths] for top, paths in files.by_folder.items()}
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
    told: dict[str, JsonValue] = {
        "missing_commands": [*view.missing_commands],
        "missing_environment_variables": [*view.missing_variables],
        "moved_skills": [moved.told() for moved in view.moved_skills],
        "warnings": [f"line {each.line}: {each.text}" for each in view.problems],
    }
    return answer | {name: each for name, each in told.items() if each}


def file_answer_of(view: TextFileView | BinaryFileView) -> dict[str, JsonValue]:
    """Return a skill's file as the JSON object for the model; a binary file without content."""
    answer: dict[str, JsonValue] = {"success": True, "name": view.name, "file_path": view.path}
    match view:
        case TextFileView():
            return answer | {"content": view.content}
        case BinaryFileView():
            facts = {"media_type": view.media_type, "path": str(view.place)}
            return answer | {"is_binary": True, "size_bytes": view.size_bytes} | facts
        case _:
            assert_never(view)


def skill_view_tool(skills: SkillAccess) -> Tool:
    """Return the tool for a session."""
    spec = spec_of("skill_view", DESCRIPTION, ViewSkillArguments)
    return Tool(spec, "read", "Load a skill", partial(ViewSkillUse, skills))
