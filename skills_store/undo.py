"""Undo records of background runs: copies of skills from before each change.

A run may make several changes under one id; they are undone together. Files that the user changed
since are never overwritten: they make the undo fail. The ownership rules are in `ownership`.
"""

import logging
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import assert_never, cast, get_args

from skills_store.changes import (
    FileRemoval,
    FileWrite,
    ManageAction,
    SkillChange,
    SkillCopy,
    SkillMove,
)
from skills_store.home import AgentHome
from skills_store.json_file import Json, JsonFile, JsonObject
from skills_store.own_files import capture_own
from skills_store.trees import (
    Tree,
    copy_tree,
    digest_of,
    is_inside,
    parse_tree,
    restore_tree,
    serialize_tree,
)
from skills_store.usage import Clock, format_time, parse_time
from skills_store.write_errors import SkillUndoConflictError, SkillUndoError

logger = logging.getLogger(__name__)

MAX_RECORDS = 50
_RECORD_NAME = "record.json"
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


class SkillUndoStore:
    """Undo records of one agent home. All calls block; writers must hold the skills lock."""

    def __init__(self, home: AgentHome, now: Clock) -> None:
        self._home = home
        self._now = now

    def records(self) -> tuple[UndoRecord, ...]:
        """Return all records, latest first; a broken one is logged and left out."""
        return tuple(filter(None, map(self._read_or_log, reversed(self._ids()))))

    def new_id(self) -> str:
        """Return an id for the changes of one run; ids sort by time."""
        return f"{self._now():%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"

    def save(self, change: SkillChange, undo_id: str) -> None:
        """Record the state before a change.

        Raises:
            SkillUndoError: The id is invalid, or was undone already.
            OSError: It cannot be recorded; then the change must not be made.
        """
        folder = self._folder(undo_id)
        document = JsonFile(folder / _RECORD_NAME)
        record = document.read_strictly()
        if record.get("undone_at"):
            message = f"{undo_id} was undone; nothing is added to it."
            raise SkillUndoError(message)
        number = len(_steps(record))
        if number == 0:
            self._forget_oldest()
        copies = folder / str(number)
        shutil.rmtree(
            copies, ignore_errors=True
        )  # left over from a crash before the step was recorded
        before = capture_own(change.folder)
        copy_tree(change.folder, copies, before)
        step = _serialize_step(change, before, number, self._home.skills)

        def add_step(record: JsonObject) -> None:
            record.setdefault("origin", change.origin)
            record.setdefault("began_at", format_time(self._now()))
            record["steps"] = [*_steps(record), step]

        document.update(add_step)

    def find(self, undo_id: str) -> UndoRecord:
        """Return the changes recorded under an id.

        Raises:
            SkillUndoError: Nothing is recorded under it.
        """
        found = self._read(undo_id) if _ID.fullmatch(undo_id) else None
        if found is None:
            message = f"There is nothing to undo under the id {undo_id[:80]!r}."
            raise SkillUndoError(message)
        return found

    def restore(self, undo_id: str) -> UndoRecord:
        """Restore every file to its bytes before the first change under an id.

        Raises:
            SkillUndoError: There is no such id, or it was undone already.
            SkillUndoConflictError: A file was changed since; nothing is restored.
            OSError: A write failed; calling this again continues.
        """
        found = self.find(undo_id)
        if found.undone_at is not None:
            message = f"{undo_id} was undone already."
            raise SkillUndoError(message)
        conflicts = [
            path for step in _first_steps(found) for path in self._changed_since(step, found)
        ]
        if conflicts:
            raise SkillUndoConflictError(conflicts)
        for step in _first_steps(found):
            restore_tree(step.folder, step.copies, step.before, capture_own(step.folder))
            if not step.before and not any(step.folder.iterdir()):
                step.folder.rmdir()
        JsonFile(self._folder(undo_id) / _RECORD_NAME).update(
            lambda record: record.update(undone_at=format_time(self._now()))
        )
        return found

    def _changed_since(self, first: UndoStep, found: UndoRecord) -> Iterator[Path]:
        """Yield the files whose content no step of the run left or found there."""
        steps = [step for step in found.steps if step.folder == first.folder]
        for path, entry in capture_own(first.folder).items():
            digests = {step.before[path].digest for step in steps if path in step.before}
            digests |= {step.after[path] for step in steps if path in step.after}
            if entry.kind != "folder" and entry.digest not in digests:
                yield first.folder / path

    def _forget_oldest(self) -> None:
        for undo_id in self._ids()[: -MAX_RECORDS + 1]:
            shutil.rmtree(self._home.undo / undo_id, ignore_errors=True)

    def _ids(self) -> list[str]:
        if not self._home.undo.is_dir():
            return []
        return sorted(path.name for path in self._home.undo.iterdir() if _ID.fullmatch(path.name))

    def _folder(self, undo_id: str) -> Path:
        if not _ID.fullmatch(undo_id):
            message = f"{undo_id[:80]!r} is not a valid undo id."
            raise SkillUndoError(message)
        return self._home.undo / undo_id

    def _read_or_log(self, undo_id: str) -> UndoRecord | None:
        try:
            return self._read(undo_id)
        except SkillUndoError as error:
            logger.warning("%s", error)
            return None

    def _read(self, undo_id: str) -> UndoRecord | None:
        folder = self._folder(undo_id)
        record = JsonFile(folder / _RECORD_NAME).read()
        if not record:
            return None
        origin = record.get("origin")
        return UndoRecord(
            undo_id,
            origin if isinstance(origin, str) else "",
            parse_time(record.get("began_at")),
            parse_time(record.get("undone_at")),
            tuple(_parse_step(step, folder, self._home.skills) for step in _steps(record)),
        )


def _first_steps(found: UndoRecord) -> tuple[UndoStep, ...]:
    """Return the first step of each directory; it has the state before all of them."""
    first_steps: dict[Path, UndoStep] = {}
    for step in found.steps:
        first_steps.setdefault(step.folder, step)
    return tuple(first_steps.values())


def _steps(record: Mapping[str, Json]) -> list[Json]:
    steps = record.get("steps")
    return steps if isinstance(steps, list) else []


def _serialize_step(
    change: SkillChange, before: Tree, number: int, skills_folder: Path
) -> JsonObject:
    effect = change.effect
    return {
        "action": change.action,
        "name": change.name,
        "folder": change.folder.relative_to(skills_folder).as_posix(),
        "before": serialize_tree(before),
        "after": dict(_digests_after(change, before)),
        "copies": str(number),
        "archived": effect.target.name if isinstance(effect, SkillMove) else None,
    }


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
            digests = {path: digest for path, digest in after.items() if isinstance(digest, str)}
            return UndoStep(
                cast("ManageAction", action),
                name,
                skills_folder / folder_name,
                _parse_record_tree(before, folder),
                digests,
                folder / copies,
                archived if isinstance(archived, str) else None,
            )
        case _:
            message = f"The record in {folder} cannot be understood."
            raise SkillUndoError(message)


def _parse_record_tree(value: Json, folder: Path) -> Tree:
    try:
        return parse_tree(value)
    except ValueError as error:
        message = f"The record in {folder} cannot be understood: {error}."
        raise SkillUndoError(message) from None


def _digests_after(change: SkillChange, before: Tree) -> Iterator[tuple[str, str]]:
    """Yield path and digest of the files as a change leaves them."""
    effect = change.effect
    match effect:
        case SkillMove():
            return
        case FileWrite() | FileRemoval() | SkillCopy():
            file_effect = effect.file_effect if isinstance(effect, SkillCopy) else effect
            changed = file_effect.path.relative_to(change.folder).as_posix()
            for path, entry in before.items():
                if path != changed and entry.kind != "folder":
                    yield path, entry.digest
            if isinstance(file_effect, FileWrite):
                yield changed, digest_of(file_effect.new)
        case _:
            assert_never(effect)
