"""The skills as a background run reads and changes them.

Reading one does not count as use, or a skill that only background runs read would never age.
Changes are always attributed to the run, whatever the call says; the store decides which skills it
may change.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from anyio import to_thread

from acp_server.skills.screening import refuse_threats
from acp_server.skills.skill_roots import SkillRoots
from prompt_engine.trust import TrustCheck
from skills_store.background_editor import BackgroundSkillEditor
from skills_store.calls import ManageCall, ManageResult
from skills_store.changes import SkillChange
from skills_store.library import SkillLibrary, SkillListing
from skills_store.skill import SKILL_FILE, Skill
from skills_store.viewing import FileView, SkillView, TextFileView, ViewContext
from skills_store.visibility import VisibilityFacts

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class BackgroundSkills:
    """The skills of one set of skill roots, for one background run."""

    skill_roots: SkillRoots
    skill_editor: BackgroundSkillEditor
    visibility_facts: VisibilityFacts
    viewer: ViewContext
    is_trusted: TrustCheck
    """Whether the user has approved a text that would otherwise be withheld from the model."""

    @property
    def home(self) -> Path:
        """The user's own skill directory, in which new skills are created."""
        return self.skill_editor.home.skills

    async def listing(self, category: str | None = None) -> SkillListing:
        """Return the skills of one category, or all."""
        return await self._query(
            lambda library: library.list_skills(self.visibility_facts, category or None)
        )

    async def view(self, name: str) -> SkillView:
        """Return a skill.

        Raises:
            SkillError: it does not exist, or cannot be shown.
        """

        def load(library: SkillLibrary) -> SkillView:
            view = library.view(name, self.viewer, self.visibility_facts)
            self._screen(library.find(name), SKILL_FILE, view.content)
            return view

        return await self._query(load)

    async def view_file(self, name: str, path: str) -> FileView:
        """Return a file of a skill.

        Raises:
            SkillError: it does not exist, or cannot be shown.
        """

        def load(library: SkillLibrary) -> FileView:
            view = library.view_file(name, path, self.viewer, self.visibility_facts)
            if isinstance(view, TextFileView):
                self._screen(library.find(name), path, view.content)
            return view

        return await self._query(load)

    async def text_of(self, name: str, path: str = SKILL_FILE) -> None:
        """Do nothing: no client watches the text grow."""
        del name, path

    async def plan(self, call: ManageCall) -> SkillChange:
        """Return the change that a call would make, without writing.

        Raises:
            SkillError: it cannot be made, or not by a background run.
            OSError: a file cannot be read.
        """
        return await to_thread.run_sync(self.skill_editor.plan, call)

    async def commit(self, change: SkillChange, undo_id: str | None = None) -> ManageResult:
        """Apply a planned and permitted change, and notify all sessions.

        Raises:
            SkillError: the change is no longer possible.
            OSError: a write failed; every file is as it was.
        """
        result = await to_thread.run_sync(self.skill_editor.commit, change, undo_id)
        await self.skill_roots.invalidate()
        return result

    async def _query(self, query: Callable[[SkillLibrary], Result]) -> Result:
        # Without an event from a file watch the index may be stale, and this run changes skills
        # itself.
        self.skill_roots.library.mark_changed()
        return await to_thread.run_sync(query, self.skill_roots.library)

    def _screen(self, skill: Skill, path: str, text: str) -> None:
        # Bundled skills ship with this program: their text is trusted.
        if skill.root.kind != "bundled":
            refuse_threats(skill.folder / path, text, self.is_trusted)
