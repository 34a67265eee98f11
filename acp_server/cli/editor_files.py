"""Changes of an editor's file: planned from what it holds, made whole or not at all.

Follows a link only to a file of this user's below the home folder, never writes over anything
but what the plan was made from, and keeps that beside it. Knows no editor; prints nothing.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from skills_store.atomic import write_atomically

MOST_BYTES = 4_000_000
MOST_BACKUPS = 1_000
BACKUP_SUFFIX = ".before-acp-server"


class EditorFileError(Exception):
    """A file that is better left alone."""

    def __init__(self, file: Path, reason: str) -> None:
        super().__init__(f"{file} {reason}")
        self.file = file
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Change:
    """What a file is about to become."""

    file: Path
    """The file itself, links followed."""
    old: bytes | None
    """What it holds; None if it is not there."""
    old_text: str
    new_text: str

    @property
    def is_needed(self) -> bool:
        """Whether there is anything to do."""
        return self.new_text != self.old_text


def plan(file: Path, home: Path, edit: Callable[[str], str]) -> Change:
    """Return what a file would become; nothing is written.

    Raises:
        EditorFileError: it is not a plain text of this user's, or a link leads elsewhere.
        OSError: it cannot be read.
        ValueError: what `edit` raises of it.
    """
    real = _real_file(file, home)
    old = _content(real)
    try:
        text = (old or b"").decode()
    except UnicodeDecodeError:
        raise EditorFileError(real, "is not UTF-8") from None
    return Change(real, old, text, edit(text))


def carry_out(change: Change) -> Path | None:
    """Write a change; returns where the old content is kept, or None where there was none.

    Raises:
        EditorFileError: the file is not any more what the change was made from.
        OSError: nothing was written but perhaps the copy.
    """
    change.file.parent.mkdir(parents=True, exist_ok=True)
    if _content(change.file) != change.old or change.file.is_symlink():
        raise EditorFileError(change.file, "has changed meanwhile; nothing was written")
    backup = None
    if change.old is not None:
        backup = _free_name(change.file)
        write_atomically(backup, change.old, stat.S_IMODE(change.file.stat().st_mode))
    write_atomically(change.file, change.new_text.encode())
    return backup


def _real_file(file: Path, home: Path) -> Path:
    if not file.is_symlink():
        return file
    real = file.resolve()
    if not real.is_relative_to(home.resolve()):
        raise EditorFileError(file, f"is a link that leads out of the home folder, to {real}")
    if not real.exists():
        raise EditorFileError(file, f"is a link to {real}, which does not exist")
    return real


def _content(file: Path) -> bytes | None:
    """Return what a file holds; what is no plain file of this user's is not opened."""
    try:
        status = file.stat()
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(status.st_mode):
        raise EditorFileError(file, "is not a file")
    if status.st_size > MOST_BYTES:
        raise EditorFileError(file, "is too large for settings")
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise EditorFileError(file, "belongs to another user")
    return file.read_bytes()


def _free_name(file: Path) -> Path:
    """Return a name for the copy that nothing has: an earlier one stays."""
    for number in range(1, MOST_BACKUPS):
        name = f"{file.name}{BACKUP_SUFFIX}{'' if number == 1 else f'-{number}'}"
        if not os.path.lexists(file.with_name(name)):
            return file.with_name(name)
    raise EditorFileError(file, "has too many copies beside it already")
