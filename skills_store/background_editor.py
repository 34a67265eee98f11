"""Skill editor for background runs: every change is attributed to the run.

The origin is fixed when the editor is created and cannot be overridden by a call, so the ownership
rules for background runs always apply and one undo reverts the whole run.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from skills_store.calls import ManageCall, ManageResult
from skills_store.changes import SkillChange
from skills_store.editor import SkillEditor
from skills_store.ownership import ChangeOrigin
from skills_store.skill import SkillRoot
from skills_store.usage import Clock, current_time


class BackgroundSkillEditor(SkillEditor):
    """Skill editor of one background run. All calls block."""

    origin: ChangeOrigin = "review"

    def __init__(
        self, home: Path, roots: Callable[[], Sequence[SkillRoot]], now: Clock = current_time
    ) -> None:
        """Start a run."""
        super().__init__(home, roots, now)
        self.undo_id = self.new_undo_id()
        """ID under which all changes of the run can be undone."""
        self.changes: list[SkillChange] = []
        """Committed changes of the run, in order."""

    def plan(self, call: ManageCall) -> SkillChange:
        """Return the change that a call would make, with the origin of this run.

        Raises:
            SkillError: The call is not possible, or not allowed for a background run.
            OSError: A file cannot be read.
        """
        return super().plan(replace(call, origin=self.origin))

    def commit(self, change: SkillChange, undo_id: str | None = None) -> ManageResult:
        """Commit a change as part of the run; `undo_id` is ignored.

        Raises:
            SkillError: The change is no longer allowed; nothing was changed.
            LockedError: Another process holds the skills lock past the timeout.
            OSError: A write failed; every file is unchanged.
        """
        del undo_id
        background_change = replace(change, origin=self.origin)
        result = super().commit(background_change, self.undo_id)
        self.changes.append(background_change)
        return result
