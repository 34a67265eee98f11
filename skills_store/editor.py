"""Skill editor: plan a change, show it, get permission, commit it; undo it later if needed.

Every change of the user's skills goes through here, under one lock. The caller of `commit` is
responsible for the permission.
"""

import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from skills_store.applying import apply_change
from skills_store.archive import SkillArchive
from skills_store.calls import ManageCall, ManageResult
from skills_store.catalog import SkillCatalog
from skills_store.changes import SkillChange, check_unchanged
from skills_store.home import AgentHome
from skills_store.names import is_same_name, refuse_links
from skills_store.ownership import BACKGROUND_ORIGINS
from skills_store.planning import SkillChangePlanner
from skills_store.skill import SkillRoot
from skills_store.undo import SkillUndoStore, UndoRecord
from skills_store.usage import Clock, Creator, SkillUsageStore, current_time
from skills_store.write_errors import NameTakenError, StaleChangeError

logger = logging.getLogger(__name__)


class SkillEditor:
    """Editor for the skills of one agent home. All calls block."""

    def __init__(
        self, home: Path, roots: Callable[[], Sequence[SkillRoot]], now: Clock = current_time
    ) -> None:
        """Create the editor. `roots` is called each time; one root is `home / "skills"`."""
        self.home = AgentHome(home)
        self.usage = SkillUsageStore(self.home.skills, now)
        self.archive = SkillArchive(self.home.skills, now)
        self.catalog = SkillCatalog(roots)
        self._undo = SkillUndoStore(self.home, now)
        self._planner = SkillChangePlanner(self.home, self.catalog, self.usage, self.archive, now)

    def plan(self, call: ManageCall) -> SkillChange:
        """Return the change that a call would make. Writes nothing.

        Raises:
            SkillError: The call is not possible; the message says why and suggests an alternative.
            OSError: A file cannot be read.
        """
        try:
            change = self._planner.plan(call)
            resolved_paths = tuple(Path(os.path.realpath(path)) for path in change.paths)
            return replace(change, resolved_paths=resolved_paths)
        except FileNotFoundError as error:  # planning holds no lock: a file was removed meanwhile
            raise StaleChangeError(Path(error.filename or self.home.skills)) from error

    def commit(self, change: SkillChange, undo_id: str | None = None) -> ManageResult:
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
            # Symlinks again: one may have been created since the plan.
            roots = [self.home.skills, *([change.skill.root.path] if change.skill else [])]
            for path in change.paths:
                for root in roots:
                    if path.is_relative_to(root):
                        refuse_links(root, path)
            check_unchanged(change.effect)
            recorded_id = None
            if change.origin in BACKGROUND_ORIGINS:
                recorded_id = undo_id or self._undo.new_id()
                # Record before applying: a crash in between leaves a harmless record, the other
                # order would leave a change that cannot be undone.
                self._undo.save(change, recorded_id)
            apply_change(change, self.home.skills, self.archive)
            self._record_usage(change)
        return ManageResult(change.message, recorded_id)

    def new_undo_id(self) -> str:
        """Return an undo id for all changes of one run."""
        return self._undo.new_id()

    def undo_records(self) -> tuple[UndoRecord, ...]:
        """Return the recorded background runs, latest first."""
        return self._undo.records()

    def undo(self, undo_id: str) -> UndoRecord:
        """Revert all changes recorded under an id, byte for byte.

        Raises:
            SkillUndoError: Nothing is recorded under the id, or a file was changed since.
            LockedError: Another process holds the skills lock past the timeout.
            OSError: A write failed; calling this again continues.
        """
        with self.home.locked():
            record = self._undo.restore(undo_id)
            for step in record.steps:
                if step.action == "create" and not step.folder.exists():
                    self.usage.forget(step.name)
                if step.archived is not None:
                    self.archive.discard_copy(step.archived, step.before)
                    self.usage.set_state(step.name, "active")
        return record

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
            for skill in self.catalog.list_skills():
                if skill.root.kind == "home" and is_same_name(skill.name, name):
                    raise NameTakenError(name, skill.folder)
            folder = self.archive.restore(name)
            self.usage.set_state(name, "active")
        return folder

    def _record_usage(self, change: SkillChange) -> None:
        """Record the change in the usage file. Errors are only logged: the change is made."""
        creator: Creator = "user" if change.origin == "user" else "agent"
        try:
            if change.action == "create":
                self.usage.record_creation(change.name, creator)
            elif change.action == "delete":
                self.usage.set_state(change.name, "archived")
            else:
                record = self.usage.record(change.name)
                # Its copy was archived and is made again.
                if record is not None and record.state == "archived":
                    self.usage.set_state(change.name, "active")
                self.usage.count(change.name, "patch")
        except OSError as error:
            logger.warning(
                "cannot write the usage of the skill %s, its change was not counted: %s",
                change.name,
                error,
            )
