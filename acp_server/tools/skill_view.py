"""The tool `skill_view`: a skill, or a file that goes with it, for the model. Answers are JSON."""

import json
from functools import partial
from typing import assert_never

from pydantic import JsonValue

from acp_server.skills.access import SkillAccess
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.report import Report
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
    """Which skill, which file."""

    name: str
    file_path: str | None = None


class ViewSkillUse(Use[ViewSkillArguments]):
    """One skill loaded, or one of its files."""

    def __init__(self, skills: SkillAccess, report: Report) -> None:
        super().__init__(ViewSkillArguments, report)
        self._skills = skills

    def describe(self, so_far: SoFar) -> Description | None:
        """Name the skill once it is known, and the file if it is one."""
        name, path = so_far.whole("name"), so_far.whole("file_path")
        return Description(_title(name, path)) if name else None

    async def run(self, arguments: ViewSkillArguments) -> Outcome:
        """Load it; the user sees where it lies, and opens it there."""
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
    """Return what the model is told when nothing came of a call."""
    answer = json.dumps({"success": False, "error": reason}, ensure_ascii=False)
    return Outcome(answer, is_error=True, shown=(Text(reason),))


def _title(name: str, path: str | None) -> str:
    if path is None or path == SKILL_FILE:
        return f"Load the skill {name}"
    return f"Read {path} of the skill {name}"


def answer_of(view: SkillView) -> dict[str, JsonValue]:
    """Return what the model is told of a skill."""
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
    """Return what the model is told of a file of a skill."""
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
