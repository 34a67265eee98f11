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

from acp_server.permissions.effects import ChangeSkill, Target
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import Question
from acp_server.skills.access import SkillAccess
from acp_server.skills.screening import doubts_about
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.edit.diffs import exact_diff
from acp_server.tools.edit.growing_diff import GrowingDiff, as_far
from acp_server.tools.skills.skill_view import failed
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind, FileDiff, Location
from acp_server.turn.ports import Outcome
from skills_store import SkillError
from skills_store.calls import ManageCall
from skills_store.changes import Action, Change
from skills_store.skill import SKILL_FILE

DESCRIPTION = (
    "Change skills. Create one after 5 or more calls, an error overcome or a corrected approach "
    "that worked, or on request; not for one-offs. Prefer patch (old_string, new_string) to edit "
    "(whole content). A good skill has triggers, numbered steps with exact commands, pitfalls, "
    "verification. Files (write_file: file_path, file_content): references/ details, templates/ "
    "to copy, scripts/ to run, assets/ the rest; each gets a one-line pointer in SKILL.md. Ask "
    "before you create or delete what the user has not asked for. delete archives; absorbed_into "
    "names the skill that holds the content now."
)
KIND: CallKind = "edit"
MOST_DOUBTS = 3

_TITLES: Mapping[Action, str] = {
    "create": "Create the skill {name}",
    "patch": "Patch {file}the skill {name}",
    "edit": "Rewrite the skill {name}",
    "delete": "Archive the skill {name}",
    "write_file": "Write {file}the skill {name}",
    "remove_file": "Remove {file}the skill {name}",
}
_GROWING: Mapping[str, str] = {
    "create": "content",
    "edit": "content",
    "write_file": "file_content",
}
"""The argument by action whose text is shown as a growing diff while it is streamed."""


class ManageSkillArguments(Arguments):
    """An action and the skill it applies to.

    The long texts come last, so that the title is known before they are streamed.
    """

    action: Action
    name: str
    category: str | None = None
    file_path: str | None = Field(default=None, description="for patch: default SKILL.md")
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool = False
    absorbed_into: str | None = None
    content: str | None = Field(default=None, description="whole SKILL.md, with frontmatter")
    file_content: str | None = None

    def call(self) -> ManageCall:
        """Convert to a call of the skill store."""
        return ManageCall(**self.model_dump())


class ManageSkillUse(Use[ManageSkillArguments]):
    """One call of `skill_manage`."""

    def __init__(self, bench: "Bench", report: Report) -> None:
        super().__init__(ManageSkillArguments, report)
        self._bench = bench
        self._growing = GrowingDiff(report)
        self._base: tuple[Path, str | None] | None = None
        self._is_looked_up = False

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the action and the skill as the title, once both are known."""
        name = so_far.whole("name")
        title = next((_TITLES[each] for each in _TITLES if each == so_far.whole("action")), None)
        if title is None or name is None:
            return None
        path = so_far.whole("file_path")
        return Description(title.format(name=name, file=f"{path} of " if path else ""))

    async def draft(self, so_far: SoFar) -> None:
        """Update the title, then show the part of the text that was received."""
        await super().draft(so_far)
        argument = _GROWING.get(so_far.whole("action") or "")
        text = so_far.text(argument) if argument else ""
        if not text:
            return
        if not self._is_looked_up:
            self._is_looked_up = True
            self._base = await self._bench.base(so_far)
        if self._base is not None:
            path, old = self._base
            diff = partial(_state, str(path), old, text)
            self._growing.offer(len(text), diff)

    async def run(self, arguments: ManageSkillArguments) -> Outcome:
        """Plan the change, ask permission, apply it."""
        skills = self._bench.skills
        try:
            change = await skills.plan(arguments.call())
            blocks = _blocks(change)
            await self.report.describe(_title(change), _locations(change))
            await self.report.show(blocks)
            refusal = await self._asked(change, blocks)
            if refusal is not None:
                return failed(refusal)
            await self.report.begin()
            done = await skills.commit(change)
        except (SkillError, OSError) as error:
            return failed(str(error))
        answer = {"success": True, "message": done.message, "skill_dir": str(change.folder)}
        text = json.dumps(answer, ensure_ascii=False)
        return Outcome(text, shown=(*blocks, Text(done.message)))

    async def _asked(self, change: Change, blocks: tuple[FileDiff, ...]) -> str | None:
        """Ask permission for a change; return the reason if it was refused, else None."""
        found = await to_thread.run_sync(doubts_about, change)
        doubts = tuple(str(each) for each in found[:MOST_DOUBTS])
        effect = ChangeSkill(self._bench.targets(change), doubts)
        call_id, title, places = self.report.call_id, _title(change), _locations(change)
        question = Question(call_id, effect, title, KIND, blocks, places)
        refusal = await self._bench.gate.pass_through(question)
        return None if refusal is None else refusal.reason


class Bench:
    """Dependencies of skill changes in one session."""

    def __init__(self, skills: SkillAccess, gate: Gate, roots: Sequence[Path]) -> None:
        self.skills = skills
        self.gate = gate
        self._roots = roots

    async def base(self, so_far: SoFar) -> tuple[Path, str | None] | None:
        """Return the path that a streamed text will be written to, and its current text.

        None if the skill is not known yet. The text is None if there is no such file.
        """
        name = so_far.whole("name")
        if name is None:
            return None
        if so_far.whole("action") == "create":
            folder = self.skills.home / (so_far.whole("category") or "") / name
            return folder / SKILL_FILE, None
        path = so_far.whole("file_path") or SKILL_FILE
        return await self.skills.text_of(name, path)

    def targets(self, change: Change) -> tuple[Target, ...]:
        """Return the files of a change in the form that the permission gate judges."""
        roots = [Path(os.path.realpath(root)) for root in self._roots]
        pairs = zip(change.paths, change.places, strict=True)
        return tuple(_target(path, real, roots) for path, real in pairs)


def _target(path: Path, real: Path, roots: list[Path]) -> Target:
    return Target(path, real, any(real.is_relative_to(root) for root in roots))


def _title(change: Change) -> str:
    name = change.diffs[0].path.relative_to(change.folder).as_posix() if change.diffs else ""
    file = f"{name} of " if name not in {"", SKILL_FILE} else ""
    return _TITLES[change.action].format(name=change.name, file=file)


def _locations(change: Change) -> tuple[Location, ...]:
    return tuple(Location(str(each.path)) for each in change.diffs)


def _blocks(change: Change) -> tuple[FileDiff, ...]:
    return tuple(
        block
        for each in change.diffs
        for block in exact_diff(str(each.path), each.old, each.new or "")
    )


def _state(path: str, old: str | None, text: str) -> tuple[FileDiff, ...]:
    return (FileDiff(path, None if old is None else as_far(old, text), text),)


def skill_manage_tool(skills: SkillAccess, gate: Gate, roots: Sequence[Path] = ()) -> Tool:
    """Return the tool; `roots` are the workspace directories of the calling session."""
    spec = spec_of("skill_manage", DESCRIPTION, ManageSkillArguments, streams=True)
    use = partial(ManageSkillUse, Bench(skills, gate, roots))
    return Tool(spec, KIND, "Change a skill", use)
