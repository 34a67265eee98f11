"""What the tools for skills work with: the port that a session's skills provide, and a pass's."""

from pathlib import Path
from typing import Protocol

from skills_store import Listing, SkillView
from skills_store.calls import Done, ManageCall
from skills_store.changes import Change
from skills_store.viewing import FileView


class SkillAccess(Protocol):
    """Some skills, as far as somebody may see and change them."""

    @property
    def home(self) -> Path:
        """The user's own folder of skills, in which new ones are made."""
        ...

    async def listing(self, category: str | None = None) -> Listing:
        """Return what is to be seen, of one category or all."""
        ...

    async def view(self, name: str) -> SkillView:
        """Return a skill.

        Raises:
            SkillError: there is none, or it cannot be shown here.
        """
        ...

    async def view_file(self, name: str, path: str) -> FileView:
        """Return a file of a skill.

        Raises:
            SkillError: there is none, or it cannot be shown here.
        """
        ...

    async def text_of(self, name: str, path: str) -> tuple[Path, str] | None:
        """Return where a file of a skill is and what it says; None where nothing can be shown."""
        ...

    async def plan(self, call: ManageCall) -> Change:
        """Return what a call would do; nothing is written.

        Raises:
            SkillError: it cannot be done.
            OSError: something cannot be read.
        """
        ...

    async def commit(self, change: Change) -> Done:
        """Make a change that was planned and allowed.

        Raises:
            SkillError: it may not be made any more.
            OSError: the disk refuses; every file is as it was.
        """
        ...
