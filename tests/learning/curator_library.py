"""A skill library for curator runs, and scripts for the curator's model."""

from collections.abc import Mapping
from pathlib import Path

from acp_server.learning.curator_run import CuratorRuns
from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.models.scripted import ScriptedModel
from acp_server.skills.service import SkillService
from skills_store.calls import ManageCall
from skills_store.editor import SkillEditor
from tests.skills_store.skill_home import TickingClock, files_in, skill_document

FIRST_PROMPT = "prompt: These are the skills\n"
CORRECTION_PROMPT = "prompt: The YAML block is not what happened\n"
REPEAT_PROMPT = "prompt: Some still stand out\n"
PICTURE = bytes(range(256))

CREATE = """call: skill_manage
  action: create
  name: pdf
  content: |
    ---
    name: pdf
    description: Use when a PDF is read, written or split.
    ---

    ## Reading
    ## Writing
    ## Splitting
step:
"""


def absorb_steps(*names: str, into: str = "pdf") -> str:
    """Return the steps that merge skills into another and archive them."""
    lines = "call: skill_manage\n  action: delete\n  name: {name}\n  absorbed_into: {into}\nstep:\n"
    return "".join(lines.format(name=name, into=into) for name in names)


def summary_step(merged: Mapping[str, str], pruned: Mapping[str, str] | None = None) -> str:
    """Return the final summary: merged skills with targets, pruned skills with reasons."""
    lines = ["say: Done.", "  ", "  ```yaml"]
    lines.append("  consolidations:" if merged else "  consolidations: []")
    for name, into in merged.items():
        lines += [f"    - from: {name}", f"      into: {into}", "      reason: One tool."]
    lines.append("  prunings:" if pruned else "  prunings: []")
    for name, reason in (pruned or {}).items():
        lines += [f"    - name: {name}", f"      reason: {reason}"]
    return "\n".join([*lines, "  ```", ""])


SIBLINGS = ("pdf-read", "pdf-split", "pdf-write")
ALL_MERGED = summary_step(dict.fromkeys(SIBLINGS, "pdf"))
MERGING = f"{FIRST_PROMPT}{CREATE}{absorb_steps(*SIBLINGS)}{ALL_MERGED}"

ATTEMPTS = """call: skill_manage
  action: delete
  name: {name}
  absorbed_into: pdf-read
step:
call: skill_manage
  action: delete
  name: {name}
step:
call: skill_manage
  action: patch
  name: {name}
  old_string: Do it.
  new_string: Do it twice.
step:
call: skill_manage
  action: edit
  name: {name}
  content: |
    ---
    name: {name}
    description: Other.
    ---
    Other.
step:
call: skill_manage
  action: write_file
  name: {name}
  file_path: references/more.md
  file_content: More.
step:
call: skill_manage
  action: delete
  name: pdf-read
  absorbed_into: {name}
step:
call: terminal
  command: rm -rf skills
step:
"""
"""Calls that a curator must not succeed with; `{name}` is a skill outside its scope."""


class CuratorLibrary:
    """Home with three narrow skills that an agent created."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.skills = self.home / "skills"
        self.clock = TickingClock()
        self.skill_service = SkillService(self.home, folder / "user", bundled=folder / "bundled")
        self.skill_editor = SkillEditor(
            self.home, lambda: self.skill_service.roots(None), self.clock
        )
        for name in SIBLINGS:
            self.create_skill(name)
        picture = self.skills / "pdf-read" / "assets" / "page.png"
        picture.parent.mkdir()
        picture.write_bytes(PICTURE)

    def create_skill(self, name: str) -> None:
        """Create a skill as an agent does."""
        call = ManageCall("create", name, content=skill_document(name))
        self.skill_editor.commit(self.skill_editor.plan(call))

    def make_curator_runs(self, script: str = MERGING) -> CuratorRuns:
        """Return the runs of a curator whose model plays a script."""
        file = self.folder / "curator.script"
        file.write_text(script, encoding="utf-8")
        catalog = FixedCatalog("test", "test", lambda: ScriptedModel(str(file)))
        return CuratorRuns(self.skill_service, catalog, now=self.clock)

    def files(self) -> dict[str, bytes]:
        """Return all files of the skills directory except locks."""
        return files_in(self.skills, is_hidden=lambda path: path.endswith(".lock"))

    def absorbed_into(self) -> dict[str, str]:
        """Return the archived skills, each with the skill that absorbed it."""
        return {each.name: each.absorbed_into for each in self.skill_editor.archive.entries()}
