"""Writes that are whole or not at all: beside the target, synced, renamed over it.

A file with several names can only be written into; what fails then is made good with the old bytes.
"""

import contextlib
import os
import secrets
import sys
from io import RawIOBase
from pathlib import Path

from skills_store.held import HeldFolder

NEW_FILE_MODE = 0o644
_PRIVATE = 0o600
_NAME_CHARACTERS = 40  # of the target's name in the temporary one, which must not be too long
_FLAGS: int = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def write_atomically(path: Path, data: bytes, mode: int | None = None) -> None:
    """Replace a file's content; a crash at any moment leaves the old bytes or the new ones.

    The folder must exist. Without a `mode`, that of the old file stays; a new one gets 0644 less
    the umask. The owner and the group stay where the system lets them.

    Raises:
        OSError: the file is as it was before.
    """
    with HeldFolder.at(path.parent) as folder:
        write_held(folder, path.name, data, mode)


def write_held(folder: HeldFolder, name: str, data: bytes, mode: int | None = None) -> None:
    """Do the same in a folder that is held.

    Raises:
        OSError: the file is as it was before.
    """
    old = _status(folder, name)
    if mode is None and old is not None:
        mode = old.st_mode & 0o7777
    temporary = f".{name[:_NAME_CHARACTERS]}.{secrets.token_hex(8)}"
    # The system takes the umask off, which cannot be read without changing it for all threads.
    descriptor = folder.open(temporary, _FLAGS, NEW_FILE_MODE if mode is None else _PRIVATE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _keep_owner(descriptor, old)
            if mode is not None and sys.platform != "win32":
                os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        if mode is not None and sys.platform == "win32":
            folder.chmod(temporary, mode)
        folder.rename(temporary, folder, name)
    finally:  # what was renamed is not there any more
        with contextlib.suppress(OSError):
            folder.unlink(temporary)
    folder.sync()


def write_in_place(folder: HeldFolder, name: str, data: bytes) -> None:
    """Make these the bytes of a file that is there, so that its other names go on showing it.

    Who reads meanwhile may see some of both, and so may who comes after a crash.

    Raises:
        OSError: the file is as it was before, unless the system refuses even that.
    """
    with os.fdopen(folder.open(name, os.O_RDWR), "r+b", buffering=0) as file:
        old = file.readall()
        try:
            _fill(file, data)
        except OSError:
            with contextlib.suppress(OSError):  # the old bytes have their room on the disk still
                _fill(file, old)
            raise


def _fill(file: RawIOBase, data: bytes) -> None:
    file.seek(0)
    left = memoryview(data)
    while left:
        left = left[file.write(left) or 0 :]
    file.truncate()
    os.fsync(file.fileno())


def _status(folder: HeldFolder, name: str) -> os.stat_result | None:
    try:
        return folder.status_behind(name)
    except FileNotFoundError:
        return None


def _keep_owner(descriptor: int, old: os.stat_result | None) -> None:
    """Give the new file the old one's group and owner, before its mode: a change clears bits."""
    if sys.platform == "win32" or old is None:
        return
    new = os.fstat(descriptor)
    if new.st_gid != old.st_gid:
        with contextlib.suppress(OSError):
            os.fchown(descriptor, -1, old.st_gid)
    if new.st_uid != old.st_uid:
        with contextlib.suppress(OSError):
            os.fchown(descriptor, old.st_uid, -1)
