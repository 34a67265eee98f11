"""Changes an editor's settings file atomically, with a backup.

Follows a symlink only to the user's own file below the home directory, and writes only if the file
still has the content that the change was planned from.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from skills_store.atomic import write_atomically

MAX_BYTES = 4_000_000
MAX_BACKUPS = 1_000
BACKUP_SUFFIX = ".before-acp-server"


class EditorFileError(Exception):
    """A file that must not be changed."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"{file} {reason}")
        self.file = file
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PlannedFileChange:
    """A planned change of a file."""

    file: Path
    """Path of the file, with symlinks resolved."""
    old_bytes: bytes | None
    """Current content; None if the file does not exist."""
    old_text: str
    new_text: str

    @property
    def is_needed(self) -> bool:
        """Whether the text changes."""
        return self.new_text != self.old_text


def plan_change(file: Path, home: Path, edit: Callable[[str], str]) -> PlannedFileChange:
    """Return the change that `edit` makes to a file; nothing is written.

    Raises:
        EditorFileError: It is not a regular UTF-8 file of this user, or a symlink leads elsewhere.
        OSError: The file cannot be read.
        ValueError: Raised by `edit`.
    """
    real = _resolve_symlink(file, home)
    old = _read_own_file(real)
    try:
        text = (old or b"").decode()
    except UnicodeDecodeError:
        raise EditorFileError(real, "is not UTF-8") from None
    return PlannedFileChange(real, old, text, edit(text))


def apply_change(change: PlannedFileChange) -> Path | None:
    """Write a change; return the path of the backup, or None if there was no old content.

    Raises:
        EditorFileError: The file changed since the change was planned.
        OSError: Writing failed; the file is unchanged, but the backup may exist.
    """
    change.file.parent.mkdir(parents=True, exist_ok=True)
    # The user may have answered minutes after the plan was made, and editors write their settings
    # at any time: compare again, so that nothing newer is overwritten.
    if _read_own_file(change.file) != change.old_bytes or change.file.is_symlink():
        raise EditorFileError(change.file, "changed in the meantime; nothing was written")
    backup = None
    if change.old_bytes is not None:
        backup = _unused_backup_path(change.file)
        write_atomically(backup, change.old_bytes, stat.S_IMODE(change.file.stat().st_mode))
    write_atomically(change.file, change.new_text.encode())
    return backup


def _resolve_symlink(file: Path, home: Path) -> Path:
    if not file.is_symlink():
        return file
    real = file.resolve()
    if not real.is_relative_to(home.resolve()):
        raise EditorFileError(file, f"is a symlink to {real}, outside your home directory")
    if not real.exists():
        raise EditorFileError(file, f"is a symlink to {real}, which does not exist")
    return real


def _read_own_file(file: Path) -> bytes | None:
    """Return the content of a regular file of this user; nothing else is opened."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise EditorFileError(file, "is not a regular file")
    if status.st_size > MAX_BYTES:
        raise EditorFileError(file, "is too large for a settings file")
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise EditorFileError(file, "belongs to another user")
    return file.read_bytes()


def _unused_backup_path(file: Path) -> Path:
    """Return an unused path for the backup, so that earlier backups stay."""
    for number in range(1, MAX_BACKUPS):
        name = f"{file.name}{BACKUP_SUFFIX}{'' if number == 1 else f'-{number}'}"
        if not os.path.lexists(file.with_name(name)):
            return file.with_name(name)
    raise EditorFileError(file, "has too many backups; delete some of them")
