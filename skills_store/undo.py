"""Undo of background runs: copies of the skills from before each change, and of all skills.

Both are snapshots: a directory, named by an id that sorts by time, of copied files, with a record
of what they are copies of.

- A review records the skills it changes, one after the other, under one id. They are restored
  together. Files that the user changed since are never overwritten: they make the undo fail. The
  ownership rules are in `ownership`.
- Before a curator run everything is backed up, and restored as a whole. A backup contains real
  bytes and modes, no links to the originals. It leaves out `.git`, which is the user's, and lock
  files, which other processes may hold.

A run that archives a skill is undone from a copy, too; the editor then discards the archived
directory if nothing in it was changed. `archive` is no undo: it keeps each skill under its name
until the user brings it back, in the format of Hermes, while only the newest copies are kept here.
"""

import logging
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast, get_args

from skills_store.archive import FOLDER_NAME, STAGING_NAME
from skills_store.changes import ManageAction, SkillChange, SkillCopy, SkillMove
from skills_store.home import AgentHome
from skills_store.json_file import Json, JsonFile, JsonObject
from skills_store.locks import locked
from skills_store.own_files import capture_own
from skills_store.trees import (
    Tree,
    capture_tree,
    copy_tree,
    digest_of,
    is_inside,
    parse_tree,
    restore_tree,
    serialize_tree,
)
from skills_store.usage import FILE_NAME, Clock, current_time, format_time, parse_time
from skills_store.write_errors import SkillUndoConflictError, SkillUndoError

logger = logging.getLogger(__name__)

MAX_RECORDS = 50
MAX_BACKUPS = 5
_COPIES_NAME = "skills"
"""Directory of the copies in a backup; each step of a record has its own, named by a number."""
_EXCLUDED = frozenset(
    {f"{FILE_NAME}.lock", f"{FOLDER_NAME}/records.json.lock", f"{FOLDER_NAME}/{STAGING_NAME}"}
)
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class UndoStep:
    """One change: the directory before it, and the digests of its files after it."""

    action: ManageAction
    name: str
    folder: Path
    before: Tree
    after: Mapping[str, str]
    copies: Path
    archived: str | None = None
    """Name of the archive directory that a deleted skill was moved to."""


@dataclass(frozen=True, slots=True)
class UndoRecord:
    """Changes recorded under one id."""

    id: str
    origin: str
    began_at: datetime | None
    undone_at: datetime | None
    steps: tuple[UndoStep, ...]


@dataclass(frozen=True, slots=True)
class SkillBackup:
    """A backup of all skills."""

    id: str
    reason: str
    created_at: datetime | None
    tree: Tree


class _SnapshotFolder:
    """Directories of copies with their records, by id."""

    def __init__(self, folder: Path, now: Clock) -> None:
        self._folder = folder
        self._now = now

    def new_id(self) -> str:
        """Return an id for a snapshot; ids sort by time."""
        return f"{self._now():%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"

    def _ids(self) -> list[str]:
        """Return all ids, oldest first."""
        if not self._folder.is_dir():
            return []
        return sorted(path.name for path in self._folder.iterdir() if _ID.fullmatch(path.name))

    def _record_file(self, snapshot_id: str) -> JsonFile:
        return JsonFile(self._folder / snapshot_id / "record.json")

    def _keep_newest(self, count: int) -> None:
        for old in self._ids()[:-count]:
            shutil.rmtree(self._folder / old, ignore_errors=True)


class SkillUndoStore(_SnapshotFolder):
    """Undo records of one agent home. All calls block; writers must hold the skills lock."""

    def __init__(self, home: AgentHome, now: Clock) -> None:
        super().__init__(home.undo, now)
        self._skills = home.skills

    def records(self) -> tuple[UndoRecord, ...]:
        """Return all records, latest first; a broken one is logged and left out."""
        found: list[UndoRecord] = []
        for undo_id in reversed(self._ids()):
            try:
                record = self._read(undo_id)
            except SkillUndoError as error:
                logger.warning("%s", error)
            else:
                found += [record] if record else []
        return tuple(found)

    def save(self, change: SkillChange, undo_id: str) -> None:
        """Record the state before a change.

        Raises:
            SkillUndoError: The id is invalid, or was undone already.
            OSError: It cannot be recorded; then the change must not be made.
        """
        if not _ID.fullmatch(undo_id):
            message = f"{undo_id[:80]!r} is not a valid undo id."
            raise SkillUndoError(message)
        document = self._record_file(undo_id)
        record = document.read_strictly()
        if record.get("undone_at"):
            message = f"{undo_id} was undone; nothing is added to it."
            raise SkillUndoError(message)
        number = len(_steps(record))
        if number == 0:
            self._keep_newest(MAX_RECORDS - 1)
        copies = self._folder / undo_id / str(number)
        # Left over from a crash before the step was recorded.
        shutil.rmtree(copies, ignore_errors=True)
        before = capture_own(change.folder)
        copy_tree(change.folder, copies, before)
        effect = change.effect
        step: JsonObject = {
            "action": change.action,
            "name": change.name,
            "folder": change.folder.relative_to(self._skills).as_posix(),
            "before": serialize_tree(before),
            "after": dict(_digests_after(change, before)),
            "copies": str(number),
            "archived": effect.target.name if isinstance(effect, SkillMove) else None,
        }

        def add_step(record: JsonObject) -> None:
            record.setdefault("origin", change.origin)
            record.setdefault("began_at", format_time(self._now()))
            record["steps"] = [*_steps(record), step]

        document.update(add_step)

    def restore(self, undo_id: str) -> UndoRecord:
        """Restore every file to its bytes before the first change under an id.

        Raises:
            SkillUndoError: There is no such id, or it was undone already.
            SkillUndoConflictError: A file was changed since; nothing is restored.
            OSError: A write failed; calling this again continues.
        """
        found = self._read(undo_id) if _ID.fullmatch(undo_id) else None
        if found is None:
            message = f"There is nothing to undo under the id {undo_id[:80]!r}."
            raise SkillUndoError(message)
        if found.undone_at is not None:
            message = f"{undo_id} was undone already."
            raise SkillUndoError(message)
        # The first step of each directory has the state before all of them.
        first_steps: dict[Path, UndoStep] = {}
        for step in found.steps:
            first_steps.setdefault(step.folder, step)
        # Files whose content no step of the run left or found there.
        conflicts: list[Path] = []
        for folder in first_steps:
            steps = [step for step in found.steps if step.folder == folder]
            for path, entry in capture_own(folder).items():
                digests = {step.before[path].digest for step in steps if path in step.before}
                digests |= {step.after[path] for step in steps if path in step.after}
                if entry.kind != "folder" and entry.digest not in digests:
                    conflicts.append(folder / path)
        if conflicts:
            raise SkillUndoConflictError(conflicts)
        for step in first_steps.values():
            restore_tree(step.folder, step.copies, step.before, capture_own(step.folder))
            if not step.before and not any(step.folder.iterdir()):
                step.folder.rmdir()
        self._record_file(undo_id).update(
            lambda record: record.update(undone_at=format_time(self._now()))
        )
        return found

    def _read(self, undo_id: str) -> UndoRecord | None:
        record = self._record_file(undo_id).read()
        if not record:
            return None
        origin = record.get("origin")
        folder = self._folder / undo_id
        return UndoRecord(
            undo_id,
            origin if isinstance(origin, str) else "",
            parse_time(record.get("began_at")),
            parse_time(record.get("undone_at")),
            tuple(_parse_step(step, folder, self._skills) for step in _steps(record)),
        )


class BackupStore(_SnapshotFolder):
    """Backups of one agent home. All calls block and take the skills lock."""

    def __init__(self, home: AgentHome, now: Clock = current_time) -> None:
        super().__init__(home.backups, now)
        self._home = home

    def backups(self) -> tuple[SkillBackup, ...]:
        """Return the complete backups, latest first."""
        return tuple(filter(None, map(self._read, reversed(self._ids()))))

    def create(self, reason: str) -> str:
        """Copy all skills and return the id of the backup; only the newest `MAX_BACKUPS` are kept.

        Raises:
            LockedError: Another process holds the skills lock past the timeout.
            OSError: A file cannot be copied.
        """
        with self._home.locked():
            backup_id = self._create(reason)
            self._keep_newest(MAX_BACKUPS)
        return backup_id

    def restore(self, backup_id: str) -> str:
        """Restore the directory byte for byte and return the id of a backup of the state before.

        Raises:
            SkillUndoError: There is no such backup.
            LockedError: Another process holds the skills lock past the timeout.
            OSError: A write failed; calling this again continues.
        """
        with self._home.locked():
            found = self._read(backup_id) if _ID.fullmatch(backup_id) else None
            if found is None:
                message = f"There is no snapshot {backup_id[:80]!r}; only the newest are kept."
                raise SkillUndoError(message)
            safety_id = self._create(f"before {backup_id} was restored")
            copies = self._folder / backup_id / _COPIES_NAME
            # Usage counters are written under this lock only, without the skills lock.
            with locked(self._home.skills / FILE_NAME):
                current = capture_tree(self._home.skills, _is_excluded)
                restore_tree(self._home.skills, copies, found.tree, current)
        return safety_id

    def _create(self, reason: str) -> str:
        """Copy the files, then write the record: a directory without a record is incomplete."""
        backup_id = self.new_id()
        folder = self._folder / backup_id
        self._home.skills.mkdir(parents=True, exist_ok=True)
        tree = capture_tree(self._home.skills, _is_excluded)
        try:
            copy_tree(self._home.skills, folder / _COPIES_NAME, tree)
            self._record_file(backup_id).update(
                lambda record: record.update(
                    reason=reason, taken_at=format_time(self._now()), tree=serialize_tree(tree)
                )
            )
        except OSError:  # an incomplete backup would push out a complete one
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return backup_id

    def _read(self, backup_id: str) -> SkillBackup | None:
        record = self._record_file(backup_id).read()
        if not record:
            return None
        try:
            tree = parse_tree(record.get("tree"))
        except ValueError:
            return None
        reason = record.get("reason")
        time = parse_time(record.get("taken_at"))
        return SkillBackup(backup_id, reason if isinstance(reason, str) else "", time, tree)


def _is_excluded(path: str) -> bool:
    return path in _EXCLUDED or ".git" in path.split("/")


def _steps(record: Mapping[str, Json]) -> list[Json]:
    steps = record.get("steps")
    return steps if isinstance(steps, list) else []


def _parse_step(step: Json, folder: Path, skills_folder: Path) -> UndoStep:
    """Parse a step of a record.

    Raises:
        SkillUndoError: It is not a valid step.
    """
    match step:
        case {
            "action": str() as action,
            "name": str() as name,
            "folder": str() as folder_name,
            "before": before,
            "after": dict() as after,
            "copies": str() as copies,
            "archived": archived,
        } if action in get_args(ManageAction) and is_inside(folder_name) and is_inside(copies):
            try:
                tree = parse_tree(before)
            except ValueError as error:
                message = f"The record in {folder} cannot be understood: {error}."
                raise SkillUndoError(message) from None
            return UndoStep(
                cast("ManageAction", action),
                name,
                skills_folder / folder_name,
                tree,
                {path: digest for path, digest in after.items() if isinstance(digest, str)},
                folder / copies,
                archived if isinstance(archived, str) else None,
            )
        case _:
            message = f"The record in {folder} cannot be understood."
            raise SkillUndoError(message)


def _digests_after(change: SkillChange, before: Tree) -> Iterator[tuple[str, str]]:
    """Yield path and digest of the files as a change leaves them."""
    if isinstance(change.effect, SkillMove):
        return
    edit = change.effect.edit if isinstance(change.effect, SkillCopy) else change.effect
    changed = edit.path.relative_to(change.folder).as_posix()
    for path, entry in before.items():
        if path != changed and entry.kind != "folder":
            yield path, entry.digest
    if edit.new is not None:
        yield changed, digest_of(edit.new)
