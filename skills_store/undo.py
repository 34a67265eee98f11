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

from skills_store.changes import Action, Change, Copied, Moved, Removed, Written
from skills_store.home import Home
from skills_store.json_file import Document, DocumentFile, Json
from skills_store.own_files import capture_own
from skills_store.trees import (
    Tree,
    copy_tree,
    digest_of,
    is_inside,
    parsed_tree,
    put_back,
    written_tree,
)
from skills_store.usage import Clock, parsed_time, written_time
from skills_store.write_errors import UndoConflictError, UndoError

logger = logging.getLogger(__name__)

MOST_KEPT = 50
_RECORD_NAME = "record.json"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Step:
    """One change: the directory before it, and the digests of its files after it."""

    action: Action
    name: str
    folder: Path
    before: Tree
    after: Mapping[str, str]
    copies: Path
    archived: str | None = None
    """Name of the archive directory that a deleted skill was moved to."""


@dataclass(frozen=True, slots=True)
class Pass:
    """Changes recorded under one id."""

    id: str
    origin: str
    began_at: datetime | None
    undone_at: datetime | None
    steps: tuple[Step, ...]


class Undo:
    """Undo records of one agent home. All calls block; writers must hold the skills lock."""

    def __init__(self, home: Home, now: Clock) -> None:
        self._home = home
        self._now = now

    def passes(self) -> tuple[Pass, ...]:
        """Return all records, latest first; a broken one is logged and left out."""
        return tuple(filter(None, map(self._read_if_whole, reversed(self._ids()))))

    def new_id(self) -> str:
        """Return an id for the changes of one run; ids sort by time."""
        return f"{self._now():%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"

    def keep(self, change: Change, undo_id: str) -> None:
        """Record the state before a change.

        Raises:
            SkillUndoError: The id is invalid, or was undone already.
            OSError: It cannot be recorded; then the change must not be made.
        """
        folder = self._folder(undo_id)
        document = DocumentFile(folder / _RECORD_NAME)
        record = document.read_strictly()
        if record.get("undone_at"):
            message = f"{undo_id} was undone; nothing is added to it."
            raise UndoError(message)
        number = len(_steps(record))
        if number == 0:
            self._forget_oldest()
        copies = folder / str(number)
        shutil.rmtree(
            copies, ignore_errors=True
        )  # left over from a crash before the step was recorded
        before = capture_own(change.folder)
        copy_tree(change.folder, copies, before)
        step = _written(change, before, number, self._home.skills)

        def kept(record: Document) -> None:
            record.setdefault("origin", change.origin)
            record.setdefault("began_at", written_time(self._now()))
            record["steps"] = [*_steps(record), step]

        document.change(kept)

    def find(self, undo_id: str) -> Pass:
        """Return the changes recorded under an id.

        Raises:
            SkillUndoError: Nothing is recorded under it.
        """
        found = self._read(undo_id) if _ID.fullmatch(undo_id) else None
        if found is None:
            message = f"There is nothing to undo under the id {undo_id[:80]!r}."
            raise UndoError(message)
        return found

    def restore(self, undo_id: str) -> Pass:
        """Restore every file to its bytes before the first change under an id.

        Raises:
            SkillUndoError: There is no such id, or it was undone already.
            SkillUndoConflictError: A file was changed since; nothing is restored.
            OSError: A write failed; calling this again continues.
        """
        found = self.find(undo_id)
        if found.undone_at is not None:
            message = f"{undo_id} was undone already."
            raise UndoError(message)
        conflicts = [path for step in _firsts(found) for path in self._changed_since(step, found)]
        if conflicts:
            raise UndoConflictError(conflicts)
        for step in _firsts(found):
            put_back(step.folder, step.copies, step.before, capture_own(step.folder))
            if not step.before and not any(step.folder.iterdir()):
                step.folder.rmdir()
        DocumentFile(self._folder(undo_id) / _RECORD_NAME).change(
            lambda record: record.update(undone_at=written_time(self._now()))
        )
        return found

    def _changed_since(self, first: Step, found: Pass) -> Iterator[Path]:
        """Yield the files whose content no step of the run left or found there."""
        steps = [step for step in found.steps if step.folder == first.folder]
        for path, leaf in capture_own(first.folder).items():
            digests = {step.before[path].digest for step in steps if path in step.before}
            digests |= {step.after[path] for step in steps if path in step.after}
            if leaf.kind != "folder" and leaf.digest not in digests:
                yield first.folder / path

    def _forget_oldest(self) -> None:
        for undo_id in self._ids()[: -MOST_KEPT + 1]:
            shutil.rmtree(self._home.undo / undo_id, ignore_errors=True)

    def _ids(self) -> list[str]:
        if not self._home.undo.is_dir():
            return []
        return sorted(path.name for path in self._home.undo.iterdir() if _ID.fullmatch(path.name))

    def _folder(self, undo_id: str) -> Path:
        if not _ID.fullmatch(undo_id):
            message = f"{undo_id[:80]!r} is not a valid undo id."
            raise UndoError(message)
        return self._home.undo / undo_id

    def _read_if_whole(self, undo_id: str) -> Pass | None:
        try:
            return self._read(undo_id)
        except UndoError as error:
            logger.warning("%s", error)
            return None

    def _read(self, undo_id: str) -> Pass | None:
        folder = self._folder(undo_id)
        record = DocumentFile(folder / _RECORD_NAME).read()
        if not record:
            return None
        origin = record.get("origin")
        return Pass(
            undo_id,
            origin if isinstance(origin, str) else "",
            parsed_time(record.get("began_at")),
            parsed_time(record.get("undone_at")),
            tuple(_parsed(step, folder, self._home.skills) for step in _steps(record)),
        )


def _firsts(found: Pass) -> tuple[Step, ...]:
    """Return the first step of each directory; it has the state before all of them."""
    firsts: dict[Path, Step] = {}
    for step in found.steps:
        firsts.setdefault(step.folder, step)
    return tuple(firsts.values())


def _steps(record: Mapping[str, Json]) -> list[Json]:
    steps = record.get("steps")
    return steps if isinstance(steps, list) else []


def _written(change: Change, before: Tree, number: int, skills_folder: Path) -> Document:
    effect = change.effect
    return {
        "action": change.action,
        "name": change.name,
        "folder": change.folder.relative_to(skills_folder).as_posix(),
        "before": written_tree(before),
        "after": dict(_digests_after(change, before)),
        "copies": str(number),
        "archived": effect.target.name if isinstance(effect, Moved) else None,
    }


def _parsed(step: Json, folder: Path, skills_folder: Path) -> Step:
    """Parse a step of a record.

    Raises:
        SkillUndoError: It is not a valid step.
    """
    match step:
        case {
            "action": str() as action,
            "name": str() as name,
            "folder": str() as place,
            "before": before,
            "after": dict() as after,
            "copies": str() as copies,
            "archived": archived,
        } if action in get_args(Action) and is_inside(place) and is_inside(copies):
            digests = {path: digest for path, digest in after.items() if isinstance(digest, str)}
            return Step(
                cast("Action", action),
                name,
                skills_folder / place,
                _parsed_tree(before, folder),
                digests,
                folder / copies,
                archived if isinstance(archived, str) else None,
            )
        case _:
            message = f"The record in {folder} cannot be understood."
            raise UndoError(message)


def _parsed_tree(value: Json, folder: Path) -> Tree:
    try:
        return parsed_tree(value)
    except ValueError as error:
        message = f"The record in {folder} cannot be understood: {error}."
        raise UndoError(message) from None


def _digests_after(change: Change, before: Tree) -> Iterator[tuple[str, str]]:
    """Yield path and digest of the files as a change leaves them."""
    effect = change.effect
    match effect:
        case Moved():
            return
        case Written() | Removed() | Copied():
            inside = effect.inside if isinstance(effect, Copied) else effect
            changed = inside.path.relative_to(change.folder).as_posix()
            for path, leaf in before.items():
                if path != changed and leaf.kind != "folder":
                    yield path, leaf.digest
            if isinstance(inside, Written):
                yield changed, digest_of(inside.new)
        case _:
            assert_never(effect)
