"""Atomic writes: temporary file next to the target, fsync, rename.

On Linux the temporary file has no name until it is complete: a process that is killed while it
writes, which takes milliseconds, leaves nothing behind.

A file with several hard links must be written in place; if that fails, the old bytes are restored.
"""

import contextlib
import os
import secrets
import sys
from collections.abc import Callable
from functools import partial
from io import BufferedWriter, RawIOBase
from pathlib import Path

from skills_store.pinned_folder import PinnedFolder

NEW_FILE_MODE = 0o644
_PRIVATE_MODE = 0o600
_NAME_CHARACTERS = 40  # taken from the target's name; the temporary name must not exceed NAME_MAX
_CREATE_FLAGS: int = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def write_atomically(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace a file's content; after a crash it has its old bytes or the new ones.

    The directory must exist. Without `mode` an existing file keeps its mode, and a new file gets
    0644 minus the umask. Owner and group are kept if the system allows it.

    Raises:
        OSError: The write failed; the file is unchanged.
    """
    with PinnedFolder.at(path.parent) as folder:
        write_atomically_in(folder, path.name, data, mode)


def write_atomically_in(
    folder: PinnedFolder, name: str, data: bytes, mode: int | None = None
) -> None:
    """Replace a file's content atomically in a pinned directory.

    Raises:
        OSError: The write failed; the file is unchanged.
    """
    old = None
    with contextlib.suppress(FileNotFoundError):
        old = folder.target_status(name)
    if mode is None and old is not None:
        mode = old.st_mode & 0o7777
    temporary = f".{name[:_NAME_CHARACTERS]}.{secrets.token_hex(8)}"
    # Let open() apply the umask: reading it means changing it for all threads.
    new_mode = NEW_FILE_MODE if mode is None else _PRIVATE_MODE
    fill = partial(_fill, data=data, mode=mode, old=old)
    try:
        if not _create_unnamed(folder, temporary, new_mode, fill):
            with os.fdopen(folder.open(temporary, _CREATE_FLAGS, new_mode), "wb") as file:
                fill(file)
        if mode is not None and sys.platform == "win32":
            folder.chmod(temporary, mode)
        folder.rename(temporary, folder, name)
    finally:  # no effect after the rename
        with contextlib.suppress(OSError):
            folder.unlink(temporary)
    # The rename itself is durable only after the directory is synced.
    folder.sync()


def _create_unnamed(
    folder: PinnedFolder, name: str, mode: int, fill: Callable[[BufferedWriter], None]
) -> bool:
    """Create a file that gets its name once it is complete; return whether the system can."""
    descriptor = folder.open_unnamed(mode)
    if descriptor is None:
        return False
    with os.fdopen(descriptor, "wb") as file:
        fill(file)
        return folder.name_unnamed(descriptor, name)


def _fill(
    file: BufferedWriter, *, data: bytes, mode: int | None, old: os.stat_result | None
) -> None:
    _copy_owner(file.fileno(), old)
    if mode is not None and sys.platform != "win32":
        os.fchmod(file.fileno(), mode)
    file.write(data)
    file.flush()
    # Before the rename: otherwise a crash can leave an empty file under the target's name.
    os.fsync(file.fileno())


def write_in_place(folder: PinnedFolder, name: str, data: bytes) -> None:
    """Overwrite an existing file in place, so that its other hard links get the new content.

    Not atomic: concurrent readers, and readers after a crash, may see a mix of old and new bytes.

    Raises:
        OSError: The write failed; the file is unchanged, unless restoring it failed too.
    """
    with os.fdopen(folder.open(name, os.O_RDWR), "r+b", buffering=0) as file:
        old = file.readall()
        try:
            _overwrite(file, data)
        except OSError:
            with contextlib.suppress(OSError):  # the old bytes still have their disk blocks
                _overwrite(file, old)
            raise


def _overwrite(file: RawIOBase, data: bytes) -> None:
    file.seek(0)
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[file.write(remaining) or 0 :]
    file.truncate()
    os.fsync(file.fileno())


def _copy_owner(descriptor: int, old: os.stat_result | None) -> None:
    """Give the new file the old one's group and owner. Before the mode: chown clears mode bits."""
    if sys.platform == "win32" or old is None:
        return
    new = os.fstat(descriptor)
    if new.st_gid != old.st_gid:
        with contextlib.suppress(OSError):
            os.fchown(descriptor, -1, old.st_gid)
    if new.st_uid != old.st_uid:
        with contextlib.suppress(OSError):
            os.fchown(descriptor, old.st_uid, -1)
