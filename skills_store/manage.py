"""Changing skills: a call is planned, shown and asked about, then committed, and can be taken back.

All that changes the user's skills goes through here and holds one lock meanwhile. It asks nobody:
whoever calls `commit` has the answer.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from skills_store.addresses import is_same_name, refuse_links
from skills_store.applying import apply
from skills_store.archive import Archive
from skills_store.calls import Done, ManageCall
from skills_store.changes import Change, check_current
from skills_store.holdings import Holdings
from skills_store.home import Home
from skills_store.ownership import UNASKED
from skills_store.planning import Planner
from skills_store.refusals import NameTakenError, OutdatedError
from skills_store.skill import Root
from skills_store.undo import Pass, Undo
from skills_store.usage import Clock, Creator, Usage, current_time

logger = logging.getLogger(__name__)


class Keeper:
    """The skills of one home, for whoever changes them. All calls block."""

    def __init__(
        self, home: Path, roots: Callable[[], Sequence[Root]], now: Clock = current_time
    ) -> None:
        """Prepare. The roots are asked for each time; one of them is `home / "skills"`."""
        self.home = Home(home)
        self.usage = Usage(self.home.skills, now)
        self.archive = Archive(self.home.skills, now)
        self.holdings = Holdings(roots)
        self._undo = Undo(self.home, now)
        self._planner = Planner(self.home, self.holdings, self.usage, self.archive, now)

    def plan(self, call: ManageCall) -> Change:
        """Return what a call would do. Nothing is written.

        Raises:
            SkillError: it cannot be done; the text says why and what to do instead.
            OSError: something cannot be read.
        """
        try:
            change = self._planner.plan(call)
            return replace(change, places=tuple(map(_real, change.paths)))
        except FileNotFoundError as error:  # it was there a moment ago: no lock is held yet
            raise OutdatedError(Path(error.filename or self.home.skills)) from error

    def commit(self, change: Change, undo_id: str | None = None) -> Done:
        """Make a change, if everything is still as it was when it was planned.

        One that nobody asked for can be undone; changes with the same id are undone together.

        Raises:
            SkillError: it may not be made any more; nothing was changed.
            LockedError: another process is changing skills and does not end.
            OSError: the disk refuses; every file is as it was.
        """
        with self.home.locked():
            self._planner.check_allowed(change)
            self._refuse_new_links(change)
            check_current(change.effect)
            kept_id = None
            if change.origin in UNASKED:
                kept_id = undo_id or self._undo.new_id()
                self._undo.keep(change, kept_id)
            apply(change, self.home.skills, self.archive)
            self._count(change)
        return Done(change.message, kept_id)

    def new_undo_id(self) -> str:
        """Return an id for all changes of one pass."""
        return self._undo.new_id()

    def passes(self) -> tuple[Pass, ...]:
        """Return the passes that changed something unasked, the latest first."""
        return self._undo.passes()

    def undo(self, undo_id: str) -> Pass:
        """Take back what was changed under an id, byte for byte.

        Raises:
            UndoError: there is nothing of the id, or a file was changed since.
            LockedError: another process is changing skills and does not end.
            OSError: the disk refuses; doing it again goes on.
        """
        with self.home.locked():
            undone = self._undo.restore(undo_id)
            for step in undone.steps:
                if step.action == "create" and not step.folder.exists():
                    self.usage.forget(step.name)
                if step.archived is not None:
                    self.archive.withdraw(step.archived, step.before)
                    self.usage.set_state(step.name, "active")
        return undone

    def restore(self, name: str) -> Path:
        """Bring an archived skill back to where it was, and return its folder.

        Raises:
            NotArchivedError: none of the name is archived.
            NameTakenError: there is a skill of the name.
            ArchiveConflictError: something stands where it was.
            LockedError: another process is changing skills and does not end.
            OSError: it cannot be moved.
        """
        with self.home.locked():
            for skill in self.holdings.look():
                if skill.root.kind == "home" and is_same_name(skill.name, name):
                    raise NameTakenError(name, skill.folder)
            folder = self.archive.restore(name)
            self.usage.set_state(name, "active")
        return folder

    def _refuse_new_links(self, change: Change) -> None:
        """Look once more for links: one may have been put there since."""
        roots = [self.home.skills]
        if change.skill is not None:
            roots.append(change.skill.root.path)
        for path in change.paths:
            for root in roots:
                if path.is_relative_to(root):
                    refuse_links(root, path)

    def _count(self, change: Change) -> None:
        """Write down what was done. What cannot be is logged: the skill has been changed."""
        creator: Creator = "user" if change.origin == "user" else "agent"
        try:
            if change.action == "create":
                self.usage.note_creation(change.name, creator)
            elif change.action == "delete":
                self.usage.set_state(change.name, "archived")
            else:
                record = self.usage.record(change.name)
                if record is not None and record.state == "archived":  # copied once more
                    self.usage.set_state(change.name, "active")
                self.usage.count(change.name, "patch")
        except OSError as error:
            logger.warning("the change of %s was not counted: %s", change.name, error)


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
