"""Archived skills: `.archive/` in the skills directory, with the reason and the way back.

Nothing is deleted from here unless a copy exists elsewhere.
"""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, count
from pathlib import Path, PurePosixPath

from skills_store.json_file import Json, JsonFile, JsonObject
from skills_store.own_files import move_entries
from skills_store.skill import ArchivedSkill
from skills_store.trees import Tree, capture_tree
from skills_store.usage import Clock, current_time, format_time, parse_time
from skills_store.write_errors import ArchiveConflictError, NotArchivedError

FOLDER_NAME = ".archive"
STAGING_NAME = ".making"
"""Staging directory for building a skill before it is renamed into place. Scans ignore it."""

_RECORDS_NAME = "records.json"
_STAMP = re.compile(r"-\d{14}(-\d+)?$")


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """An archived skill; `original_path` is relative to the skills directory."""

    name: str
    folder: Path
    original_path: PurePosixPath
    archived_at: datetime | None = None
    reason: str = ""
    absorbed_into: str = ""
    origin: str = ""


class SkillArchive:
    """Archive of one skills directory. All calls block; writers must hold the skills lock."""

    def __init__(self, skills_folder: Path, now: Clock | None = None) -> None:
        self._skills_folder = skills_folder
        self._folder = skills_folder / FOLDER_NAME
        self._document = JsonFile(self._folder / _RECORDS_NAME)
        self._now = now or current_time

    def entries(self) -> tuple[ArchiveEntry, ...]:
        """Return all archived skills, latest first."""
        records = self._document.read()
        found = [_parse_entry(folder, records.get(folder.name)) for folder in self._folders()]
        times = {each.folder: each.archived_at.timestamp() for each in found if each.archived_at}
        found.sort(key=lambda each: (times.get(each.folder, 0.0), each.folder.name), reverse=True)
        return tuple(found)

    def find(self, name: str) -> ArchiveEntry | None:
        """Return the most recently archived skill of this name; None if there is none."""
        return next((entry for entry in self.entries() if entry.name == name), None)

    def successors(self, name: str) -> tuple[ArchiveEntry, ...]:
        """Return an archived skill and its archived successors, in order.

        `absorbed_into` of the last one names the skill that has the content now.
        """
        found: dict[str, ArchiveEntry] = {}
        entry = self.find(name)
        # Records can form a cycle (a absorbed into b, later b into a new a).
        while entry is not None and entry.name not in found:
            found[entry.name] = entry
            entry = self.find(entry.absorbed_into) if entry.absorbed_into else None
        return tuple(found.values())

    def find_destination(self, name: str) -> ArchivedSkill | None:
        """Return the final successor of an archived skill; None if no such skill was archived."""
        successors = self.successors(name)
        if not successors:
            return None
        last = successors[-1].absorbed_into
        time = successors[0].archived_at
        return ArchivedSkill(
            name,
            "" if last in {entry.name for entry in successors} else last,
            "" if time is None else format_time(time),
        )

    def unused_folder(self, name: str) -> Path:
        """Return a directory that is neither in the archive nor in its records."""
        used_names = {*self._document.read(), *(folder.name for folder in self._folders())}
        if name not in used_names:
            return self._folder / name
        timestamped_name = f"{name}-{self._now():%Y%m%d%H%M%S}"
        numbered_names = (f"{timestamped_name}-{number}" for number in count(2))
        candidates = chain([timestamped_name], numbered_names)
        return self._folder / next(each for each in candidates if each not in used_names)

    def record(self, entry: ArchiveEntry) -> None:
        """Record why a skill is archived; call this before moving it.

        A record without a directory is harmless; a directory without a record has lost its reason.

        Raises:
            OSError: The file cannot be written.
        """
        record: JsonObject = {
            "name": entry.name,
            "home": entry.original_path.as_posix(),
            "archived_at": None if entry.archived_at is None else format_time(entry.archived_at),
            "reason": entry.reason,
            "absorbed_into": entry.absorbed_into,
            "origin": entry.origin,
        }
        self._document.update(lambda records: records.update({entry.folder.name: record}))

    def restore(self, name: str) -> Path:
        """Move the most recently archived skill of this name back to its original place.

        If its directory exists again as a category of other skills, it is merged into it.

        Raises:
            NotArchivedError: No archived skill has the name.
            ArchiveConflictError: An entry of the same name is in the original place.
            OSError: It cannot be moved.
        """
        entry = self.find(name)
        if entry is None:
            raise NotArchivedError(name)
        home = self._skills_folder / entry.original_path
        names = sorted(path.name for path in entry.folder.iterdir())
        conflicts = [each for each in names if (home / each).exists() or (home / each).is_symlink()]
        if conflicts:
            raise ArchiveConflictError(entry.name, home / conflicts[0])
        if home.exists():
            move_entries(entry.folder, home, names, is_archiving=False)
            entry.folder.rmdir()
        else:
            home.parent.mkdir(parents=True, exist_ok=True)
            entry.folder.rename(home)
        self._document.update(lambda records: records.pop(entry.folder.name, None))
        return home

    def discard_copy(self, folder_name: str, tree: Tree) -> None:
        """Delete an archived copy of a skill that was restored from elsewhere, if unchanged.

        Raises:
            OSError: It cannot be removed.
        """
        folder = self._folder / folder_name
        if folder in self._folders() and capture_tree(folder) == tree:
            self._document.update(lambda records: records.pop(folder_name, None))
            shutil.rmtree(folder)

    def _folders(self) -> Iterator[Path]:
        if self._folder.is_dir():
            paths = sorted(self._folder.iterdir())
            yield from (path for path in paths if path.is_dir() and path.name[0] != ".")


def _parse_entry(folder: Path, record: Json) -> ArchiveEntry:
    """Parse a record. A skill archived by Hermes has none; its directory name gives the name."""
    if not isinstance(record, dict):
        name = _STAMP.sub("", folder.name)
        return ArchiveEntry(name, folder, PurePosixPath(name))
    name = _string_field(record, "name") or folder.name
    home = PurePosixPath(_string_field(record, "home") or name)
    # The record is a plain file: a forged path must not move a skill out of the directory.
    if home.is_absolute() or ".." in home.parts:
        home = PurePosixPath(name)
    return ArchiveEntry(
        name,
        folder,
        home,
        parse_time(record.get("archived_at")),
        _string_field(record, "reason"),
        _string_field(record, "absorbed_into"),
        _string_field(record, "origin"),
    )


def _string_field(record: JsonObject, key: str) -> str:
    value = record.get(key)
    return value if isinstance(value, str) else ""
