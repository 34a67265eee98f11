"""The files of this machine, looked at and changed. Everything here blocks.

A pipe or a device is never opened, a link that was put in a file's place is never followed.
Knows no editor: what must be unchanged is handed in as a digest.
"""

import errno
import os
import shutil
import stat
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from acp_server.tools.files.encoding import decode
from acp_server.tools.files.errors import (
    ChangedMeanwhileError,
    ExistsError,
    FolderError,
    HugeFileError,
    ReadOnlyError,
    UnreadableError,
    UnwritableError,
)
from acp_server.tools.files.neighbours import entries_of
from acp_server.tools.files.paths import Place, real_path
from acp_server.tools.files.snapshot import OnDisk, digest_of
from skills_store.atomic import write_atomically

MAX_BYTES = 10 * 1024 * 1024

_READ_FLAGS: int = os.O_RDONLY | sum(  # as far as the system has them
    getattr(os, flag, 0) for flag in ("O_NONBLOCK", "O_NOFOLLOW", "O_NOCTTY", "O_BINARY")
)
_READ_BITS = 0o444
_WRITE_BITS = 0o222
_SPECIAL = {
    stat.S_IFIFO: "it is a named pipe",
    stat.S_IFSOCK: "it is a socket",
    stat.S_IFCHR: "it is a device",
    stat.S_IFBLK: "it is a device",
    stat.S_IFLNK: "it is a link that cannot be followed",
}


def read_disk(place: Place) -> OnDisk | None:
    """Return a text file as it lies on disk; None if there is none.

    Raises:
        FileError: there is something, but no text that can be read whole.
    """
    status = status_of(place)
    data = None if status is None else _content(place, status.st_size)
    if status is None or data is None:
        return None
    text, form = decode(data, place.given)
    return OnDisk(text, form, stat.S_IMODE(status.st_mode), digest_of(data), len(data))


def status_of(place: Place) -> os.stat_result | None:
    """Return what the system says about a file that may be opened; None if there is none.

    Raises:
        FolderError: it is a folder.
        UnreadableError: it is special, or its mode lets nobody read it.
    """
    try:
        status = place.real.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(place.given, _why(error)) from None
    if stat.S_ISDIR(status.st_mode):
        raise FolderError(place.given, *entries_of(place.real))
    _check_regular(place, status)
    if not status.st_mode & _READ_BITS:
        raise UnreadableError(place.given, "its mode lets nobody read it")
    return status


def open_file(place: Place) -> BinaryIO:
    """Open a file to read.

    Raises:
        FileNotFoundError: there is none.
        UnreadableError: it is special, or the system refuses.
    """
    try:
        descriptor = os.open(place.real, _READ_FLAGS)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableError(place.given, _why(error)) from None
    file = os.fdopen(descriptor, "rb")
    try:
        _check_regular(place, os.fstat(descriptor))
    except UnreadableError:
        file.close()
        raise
    return file


def check_writable(place: Place) -> None:
    """Make sure that a place is where it was, and its file, if there is one, may be written.

    Raises:
        ChangedMeanwhileError: a link on the way leads elsewhere by now.
        ReadOnlyError: its mode lets nobody write it, or not us.
        FileError: it is no file.
    """
    real = real_path(place.path)
    if real != place.real:
        raise ChangedMeanwhileError(place.given, f"it leads to {real} now")
    status = status_of(place)
    if status is None:
        return
    if not status.st_mode & _WRITE_BITS or not os.access(place.real, os.W_OK):
        raise ReadOnlyError(place.given)


def disk_digest(place: Place) -> str | None:
    """Return the digest of a file's bytes, whatever they are; None if there is none."""
    status = status_of(place)
    data = None if status is None else _content(place, status.st_size)
    return None if data is None else digest_of(data)


def replace(place: Place, data: bytes, expected: str | None, mode: int | None = None) -> None:
    """Make these the bytes of a file, and its folders if need be.

    `expected` is the digest of what is replaced. Without a `mode` that of the file stays.

    Raises:
        ChangedMeanwhileError: something else is there.
        UnwritableError: the system refuses; the file is as it was.
    """
    _check_unchanged(place, expected)
    with _writing(place):
        place.real.parent.mkdir(parents=True, exist_ok=True)
        if _has_other_names(place.real):
            _write_in_place(place.real, data, mode)
        else:
            write_atomically(place.real, data, mode)


def remove(place: Place, expected: str | None) -> None:
    """Delete a file; of a link, the link.

    Raises:
        ChangedMeanwhileError: something else is there.
        UnwritableError: the system refuses.
    """
    _check_unchanged(place, expected)
    with _writing(place):
        place.path.unlink()


def rename(place: Place, to: Place, expected: str | None) -> None:
    """Move a file, and make the folders that it needs.

    Raises:
        ExistsError: the new place is taken.
        ChangedMeanwhileError: something else is there.
        UnwritableError: the system refuses.
    """
    _check_unchanged(place, expected)
    check_free(to)
    with _writing(to):
        to.real.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(place.path, to.real)


def check_free(place: Place) -> None:
    """Make sure that nothing is at a place, not even a link without an end.

    Raises:
        ExistsError: there is something.
    """
    if os.path.lexists(place.path) or os.path.lexists(place.real):
        raise ExistsError(place.given)


def _content(place: Place, size_bytes: int) -> bytes | None:
    if size_bytes > MAX_BYTES:
        raise HugeFileError(place.given, size_bytes, "read some of its lines, or search in it")
    try:
        with open_file(place) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(place.given, _why(error)) from None
    if len(data) > MAX_BYTES:
        raise HugeFileError(place.given, len(data), "it grows while it is read")
    return data


def _check_regular(place: Place, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        why = _SPECIAL.get(stat.S_IFMT(status.st_mode), "it is no regular file")
        raise UnreadableError(place.given, why)


def _check_unchanged(place: Place, expected: str | None) -> None:
    """Look once more, right before the change: what is left is the time of the change itself."""
    check_writable(place)
    if disk_digest(place) != expected:
        raise ChangedMeanwhileError(place.given, "the file on disk is another")


def _has_other_names(path: Path) -> bool:
    try:
        return path.lstat().st_nlink > 1
    except FileNotFoundError:
        return False


def _write_in_place(path: Path, data: bytes, mode: int | None) -> None:
    """Write into the file itself, so that its other names go on showing it. Not atomic."""
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
    if mode is not None:
        path.chmod(mode)


@contextmanager
def _writing(place: Place) -> Generator[None]:
    try:
        yield
    except OSError as error:
        raise UnwritableError(place.given, _why(error)) from None


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return _SPECIAL[stat.S_IFLNK]
    return error.strerror or str(error)
