"""Skill editor: plan a change, show it, get permission, commit it; undo it later if needed.

Every change of the user's skills goes through here, under one lock. The caller of `commit` is
responsible for the permission.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from skills_store.applying import apply
from skills_store.archive import Archive
from skills_store.calls import Done, ManageCall
from skills_store.catalog import Holdings
from skills_store.changes import Change, check_current
from skills_store.home import Home
from skills_store.names import is_same_name, refuse_links
from skills_store.ownership import UNASKED
from skills_store.planning import Planner
from skills_store.skill import Root
from skills_store.undo import Pass, Undo
from skills_store.usage import Clock, Creator, Usage, current_time
from skills_store.write_errors import NameTakenError, OutdatedError

logger = logging.getLogger(__name__)


class Keeper:
    """Editor for the skills of one agent home. All calls block."""

    def __init__(
        self, home: Path, roots: Callable[[], Sequence[Root]], now: Clock = current_time
    ) -> None:
        """Create the editor. `roots` is called each time; one root is `home / "skills"`."""
        self.home = Home(home)
        self.usage = Usage(self.home.skills, now)
        self.archive = Archive(self.home.skills, now)
        self.holdings = Holdings(roots)
        self._undo = Undo(self.home, now)
        self._planner = Planner(self.home, self.holdings, self.usage, self.archive, now)

    def plan(self, call: ManageCall) -> Change:
        """Return the change that a call would make. Writes nothing.

        Raises:
            SkillError: The call is not possible; the message says why and suggests an alternative.
            OSError: A file cannot be read.
        """
        try:
            change = self._planner.plan(call)
            return replace(change, places=tuple(map(_real, change.paths)))
        except FileNotFoundError as error:  # planning holds no lock: a file was removed meanwhile
            raise OutdatedError(Path(error.filename or self.home.skills)) from error

    def commit(self, change: Change, undo_id: str | None = None) -> Done:
        """Apply a change if all files are as they were when it was planned.

        Changes of a background run are recorded for undo; those with one id are undone together.

        Raises:
            SkillError: The change is no longer allowed; nothing was changed.
            LockedError: Another process holds the skills lock past the timeout.
            OSError: A write failed; every file is unchanged.
        """
        with self.home.locked():
            # The user may have pinned, renamed or shadowed the skill while the permission question
            # was open.
            self._planner.check_allowed(change)
            self._refuse_new_links(change)
            check_current(change.effect)
            kept_id = None
            if change.origin in UNASKED:
                kept_id = undo_id or self._undo.new_id()
                # Record before applying: a crash in between leaves a harmless record, the other
                # order would leave a change that cannot be undone.
                self._undo.keep(change, kept_id)
            apply(change, self.home.skills, self.archive)
            self._count(change)
        return Done(change.message, kept_id)

    def new_undo_id(self) -> str:
        """Return an undo id for all changes of one run."""
        return self._undo.new_id()

    def passes(self) -> tuple[Pass, ...]:
        """Return the recorded background runs, latest first."""
        return self._undo.passes()

    def undo(self, undo_id: str) -> Pass:
        """Revert all changes recorded under an id, byte for byte.

        Raises:
            SkillUndoError: Nothing is recorded under the id, or a file was changed since.
            LockedError: Another process holds the skills lock past the timeout.
            OSError: A write failed; calling this again continues.
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
        """Move an archived skill back to its original place and return its directory.

        Raises:
            NotArchivedError: No archived skill has the name.
            NameTakenError: Another skill has the name now.
            ArchiveConflictError: The original place is taken.
            LockedError: Another process holds the skills lock past the timeout.
            OSError: It cannot be moved.
        """
        with self.home.locked():
            for skill in self.holdings.look():
                if skill.root.kind == "home" and is_same_name(skill.name, name):
                    raise NameTakenError(name, skill.folder)
            folder = self.archive.restore(name)
            self.usage.set_state(name, "active")
        return folder

    def _refuse_new_links(self, change: Change) -> None:
        """Check for symlinks again: one may have been created since the plan."""
        roots = [self.home.skills]
        if change.skill is not None:
            roots.append(change.skill.root.path)
        for path in change.paths:
            for root in roots:
                if path.is_relative_to(root):
                    refuse_links(root, path)

    def _count(self, change: Change) -> None:
        """Record the change in the usage file. Errors are only logged: the change is made."""
        creator: Creator = "user" if change.origin == "user" else "agent"
        try:
            if change.action == "create":
                self.usage.note_creation(change.name, creator)
            elif change.action == "delete":
                self.usage.set_state(change.name, "archived")
            else:
                record = self.usage.record(change.name)
                if (
                    record is not None and record.state == "archived"
                ):  # its copy was archived and is made again
                    self.usage.set_state(change.name, "active")
                self.usage.count(change.name, "patch")
        except OSError as error:
            logger.warning(
                "cannot write the usage of the skill %s, its change was not counted: %s",
                change.name,
                error,
            )


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))
