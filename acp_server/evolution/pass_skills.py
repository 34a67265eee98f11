"""The skills as a pass in the background sees and changes them.

To look at one counts as no use, or a skill that only passes look at would never age. Changes are
made in the pass's own name, whatever a call says; who may be changed so is the store's to decide.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from anyio import to_thread

from acp_server.skills.screening import refuse_threats
from acp_server.skills.shelf import Shelf
from prompt_engine.trust import Trusted
from skills_store import Circumstances, Library, Listing, SkillView, Viewer
from skills_store.calls import Done, ManageCall
from skills_store.changes import Change
from skills_store.skill import SKILL_FILE, Skill
from skills_store.unasked import UnaskedKeeper
from skills_store.viewing import FileView, TextFileView

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class PassSkills:
    """The skills of one shelf, for one pass."""

    shelf: Shelf
    keeper: UnaskedKeeper
    circumstances: Circumstances
    viewer: Viewer
    is_trusted: Trusted
    """Whether the user allows a text that would be kept from the model."""

    @property
    def home(self) -> Path:
        """The user's own folder of skills, in which new ones are made."""
        return self.keeper.home.skills

    async def listing(self, category: str | None = None) -> Listing:
        """Return the skills, of one category or all."""
        return await self._ask(
            lambda library: library.list_result(self.circumstances, category or None)
        )

    async def view(self, name: str) -> SkillView:
        """Return a skill.

        Raises:
            SkillError: there is none, or it cannot be shown.
        """

        def load(library: Library) -> SkillView:
            view = library.view(name, self.viewer, self.circumstances)
            self._screen(library.find(name), SKILL_FILE, view.content)
            return view

        return await self._ask(load)

    async def view_file(self, name: str, path: str) -> FileView:
        """Return a file of a skill.

        Raises:
            SkillError: there is none, or it cannot be shown.
        """

        def load(library: Library) -> FileView:
            view = library.view_file(name, path, self.viewer, self.circumstances)
            if isinstance(view, TextFileView):
                self._screen(library.find(name), path, view.content)
            return view

        return await self._ask(load)

    async def text_of(self, name: str, path: str = SKILL_FILE) -> None:
        """Return nothing: nobody sees how a text grows."""
        del name, path

    async def plan(self, call: ManageCall) -> Change:
        """Return what a call would do; nothing is written.

        Raises:
            SkillError: it cannot be done, or not by a pass.
            OSError: something cannot be read.
        """
        return await to_thread.run_sync(self.keeper.plan, call)

    async def commit(self, change: Change, undo_id: str | None = None) -> Done:
        """Make a change that was planned and allowed, and have all sessions see it.

        Raises:
            SkillError: it may not be made any more.
            OSError: the disk refuses; every file is as it was.
        """
        done = await to_thread.run_sync(self.keeper.commit, change, undo_id)
        await self.shelf.changed()
        return done

    async def _ask(self, question: Callable[[Library], Result]) -> Result:
        self.shelf.library.touched()
        return await to_thread.run_sync(question, self.shelf.library)

    def _screen(self, skill: Skill, path: str, text: str) -> None:
        if skill.root.kind != "bundled":
            refuse_threats(skill.folder / path, text, self.is_trusted)
