"""Port through which skill tools read and change skills, in a session or a background review."""

from pathlib import Path
from typing import Protocol

from skills_store.calls import ManageCall, ManageResult
from skills_store.changes import SkillChange
from skills_store.library import SkillListing
from skills_store.viewing import FileView, SkillView


class SkillAccess(Protocol):
    """Skills as far as a caller may see and change them."""

    @property
    def home(self) -> Path:
        """The user's own skill directory, in which new skills are created."""
        ...

    async def listing(self, category: str | None = None) -> SkillListing:
        """Return the visible skills, of one category or all."""
        ...

    async def view(self, name: str) -> SkillView:
        """Return a skill.

        Raises:
            SkillError: it does not exist, or cannot be shown here.
        """
        ...

    async def view_file(self, name: str, path: str) -> FileView:
        """Return a file of a skill.

        Raises:
            SkillError: it does not exist, or cannot be shown here.
        """
        ...

    async def text_of(self, name: str, path: str) -> tuple[Path, str] | None:
        """Return the path and text of a skill's file; None if it cannot be shown."""
        ...

    async def plan(self, call: ManageCall) -> SkillChange:
        """Return the change that a call would make; nothing is written.

        Raises:
            SkillError: it cannot be made.
            OSError: something cannot be read.
        """
        ...

    async def commit(self, change: SkillChange) -> ManageResult:
        """Make a change that was planned and authorized.

        Raises:
            SkillError: it may not be made any more.
            OSError: the disk refuses; every file is unchanged.
        """
        ...
