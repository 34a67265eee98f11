"""Backups of the whole skills directory, taken before a curator run.

A backup contains real bytes and modes, no links to the originals. It leaves out `.git`, which is
the user's, and lock files, which other processes may hold.
"""

import re
import secrets
import shutil
from dataclasses import dataclass
from datetime import datetime

from skills_store.archive import FOLDER_NAME, STAGING_NAME
from skills_store.home import AgentHome
from skills_store.json_file import JsonFile
from skills_store.locks import locked
from skills_store.trees import (
    Tree,
    capture_tree,
    copy_tree,
    parse_tree,
    restore_tree,
    serialize_tree,
)
from skills_store.usage import FILE_NAME, Clock, current_time, format_time, parse_time
from skills_store.write_errors import SkillUndoError

MAX_BACKUPS = 5
_RECORD_NAME = "record.json"
_COPIES_NAME = "skills"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_EXCLUDED = frozenset(
    {f"{FILE_NAME}.lock", f"{FOLDER_NAME}/records.json.lock", f"{FOLDER_NAME}/{STAGING_NAME}"}
)


@dataclass(frozen=True, slots=True)
class SkillBackup:
    """A backup of all skills."""

    id: str
    reason: str
    created_at: datetime | None
    tree: Tree


class BackupStore:
    """Backups of one agent home. All calls block and take the skills lock."""

    def __init__(self, home: AgentHome, now: Clock = current_time) -> None:
        self._home = home
        self._now = now

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
            for old in self._ids()[:-MAX_BACKUPS]:
                shutil.rmtree(self._home.backups / old, ignore_errors=True)
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
            copies = self._home.backups / backup_id / _COPIES_NAME
            # Usage counters are written under this lock only, without the skills lock.
            with locked(self._home.skills / FILE_NAME):
                restore_tree(self._home.skills, copies, found.tree, self._capture_skills())
        return safety_id

    def _create(self, reason: str) -> str:
        """Copy the files, then write the record: a directory without a record is incomplete."""
        snapshot_id = f"{self._now():%Y%m%dT%H%M%S%f}-{secrets.token_hex(3)}"
        folder = self._home.backups / snapshot_id
        self._home.skills.mkdir(parents=True, exist_ok=True)
        tree = self._capture_skills()
        try:
            copy_tree(self._home.skills, folder / _COPIES_NAME, tree)
            JsonFile(folder / _RECORD_NAME).update(
                lambda record: record.update(
                    reason=reason, taken_at=format_time(self._now()), tree=serialize_tree(tree)
                )
            )
        except OSError:  # an incomplete backup would push out a complete one
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return snapshot_id

    def _capture_skills(self) -> Tree:
        return capture_tree(self._home.skills, _is_excluded)

    def _ids(self) -> list[str]:
        folder = self._home.backups
        if not folder.is_dir():
            return []
        return sorted(path.name for path in folder.iterdir() if _ID.fullmatch(path.name))

    def _read(self, snapshot_id: str) -> SkillBackup | None:
        record = JsonFile(self._home.backups / snapshot_id / _RECORD_NAME).read()
        if not record:
            return None
        try:
            tree = parse_tree(record.get("tree"))
        except ValueError:
            return None
        reason = record.get("reason")
        return SkillBackup(
            snapshot_id,
            reason if isinstance(reason, str) else "",
            parse_time(record.get("taken_at")),
            tree,
        )


def _is_excluded(path: str) -> bool:
    return path in _EXCLUDED or ".git" in path.split("/")
