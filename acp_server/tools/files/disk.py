"""The files of this machine, looked at and changed. Everything here blocks.

A pipe or a device is never opened, a link that was put in the place of a file or of a folder on the
way to it is never followed. Knows no editor: what must be unchanged is handed in as a digest.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager
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
from acp_server.tools.files.neighbours import shown_entries
from acp_server.tools.files.paths import Place, real_path
from acp_server.tools.files.snapshot import OnDisk, digest_of
from skills_store.atomic import write_held, write_in_place
from skills_store.held import HeldFolder, LinkInTheWayError

MAX_BYTES = 10 * 1024 * 1024

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
    with _folder_of(place) as folder:
        status = None if folder is None else _status_in(folder, place)
        data = None if folder is None or status is None else _content(folder, place, status)
    if status is None or data is None:
        return None
    text, form = decode(data, place.given)
    return OnDisk(text, form, stat.S_IMODE(status.st_mode), digest_of(data), len(data))


def status_of(place: Place) -> os.stat_result | None:
    """Return what the system says about a file that may be opened; None if there is none.

    Raises:
        FolderError: it is a folder.
        ChangedMeanwhileError: its folder is a link by now.
        UnreadableError: it is special, or its mode lets nobody read it.
    """
    with _folder_of(place) as folder:
        return None if folder is None else _status_in(folder, place)


def open_file(place: Place) -> BinaryIO:
    """Open a file to read.

    Raises:
        FileNotFoundError: there is none.
        ChangedMeanwhileError: its folder is a link by now.
        UnreadableError: it is special, or the system refuses.
    """
    with _folder_of(place) as folder:
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place.real))
        return _opened(folder, place)


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
    with _folder_of(place) as folder:
        if folder is not None:
            _check_writable_in(folder, place)


def disk_digest(place: Place) -> str | None:
    """Return the digest of a file's bytes, whatever they are; None if there is none."""
    with _folder_of(place) as folder:
        return None if folder is None else _digest_in(folder, place)


def replace(place: Place, data: bytes, expected: str | None, mode: int | None = None) -> None:
    """Make these the bytes of a file, and its folders if need be.

    `expected` is the digest of what is replaced. Without a `mode` that of the file stays.

    Raises:
        ChangedMeanwhileError: something else is there.
        UnwritableError: the system refuses; the file is as it was.
    """
    check_writable(place)
    with _making_folder_of(place) as folder:
        _check_unchanged(folder, place, expected)
        with _writing(place):
            if _has_other_names(folder, place.real.name):
                write_in_place(folder, place.real.name, data)
                if mode is not None:
                    folder.chmod(place.real.name, mode)
            else:
                write_held(folder, place.real.name, data, mode)


def remove(place: Place, expected: str | None) -> None:
    """Delete a file; of a link, the link.

    Raises:
        ChangedMeanwhileError: something else is there.
        UnwritableError: the system refuses.
    """
    _check_place(place, expected)
    with _writing(place), HeldFolder.plain(place.own.parent) as folder:
        if place.stands is None:
            _check_unchanged(folder, place, expected)
        folder.unlink(place.own.name)


def rename(place: Place, to: Place, expected: str | None) -> None:
    """Move a file, and make the folders that it needs.

    Raises:
        ExistsError: the new place is taken.
        ChangedMeanwhileError: something else is there.
        UnwritableError: the system refuses.
    """
    _check_place(place, expected)
    check_free(to)
    with (
        _making_folder_of(to) as new_folder,
        _writing(to),
        HeldFolder.plain(place.own.parent) as folder,
    ):
        _move(folder, place.own.name, new_folder, to.real.name)


def check_free(place: Place) -> None:
    """Make sure that nothing is at a place, not even a link without an end.

    Raises:
        ExistsError: there is something.
    """
    if os.path.lexists(place.path) or os.path.lexists(place.real):
        raise ExistsError(place.given)


@contextmanager
def _folder_of(place: Place) -> Generator[HeldFolder | None]:
    """Hold the folder in which a file really lies; None if there is none."""
    try:
        folder = HeldFolder.plain(place.real.parent)
    except LinkInTheWayError as error:
        raise _moved(place, error) from None
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    except OSError as error:
        raise UnreadableError(place.given, _why(error)) from None
    with folder:
        yield folder


@contextmanager
def _making_folder_of(place: Place) -> Generator[HeldFolder]:
    """Hold the folder in which a file is to lie, made if need be."""
    with _writing(place):
        folder = HeldFolder.made(place.real.parent)
    with folder:
        yield folder


def _moved(place: Place, error: LinkInTheWayError) -> ChangedMeanwhileError:
    return ChangedMeanwhileError(place.given, f"its folder {error.folder} is a link by now")


def _status_in(folder: HeldFolder, place: Place) -> os.stat_result | None:
    name = _name_of(place)
    try:
        status = folder.status(name)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(place.given, _why(error)) from None
    if stat.S_ISDIR(status.st_mode):
        raise FolderError(place.given, *shown_entries(folder, name))
    _check_regular(place, status)
    if not status.st_mode & _READ_BITS:
        raise UnreadableError(place.given, "its mode lets nobody read it")
    return status


def _opened(folder: HeldFolder, place: Place) -> BinaryIO:
    try:
        descriptor = folder.open(_name_of(place), os.O_RDONLY)
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


def _content(folder: HeldFolder, place: Place, status: os.stat_result) -> bytes | None:
    if status.st_size > MAX_BYTES:
        raise HugeFileError(place.given, status.st_size, "read some of its lines, or search in it")
    try:
        with _opened(folder, place) as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UnreadableError(place.given, _why(error)) from None
    if len(data) > MAX_BYTES:
        raise HugeFileError(place.given, len(data), "it grows while it is read")
    return data


def _digest_in(folder: HeldFolder, place: Place) -> str | None:
    status = _status_in(folder, place)
    data = None if status is None else _content(folder, place, status)
    return None if data is None else digest_of(data)


def _check_regular(place: Place, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        why = _SPECIAL.get(stat.S_IFMT(status.st_mode), "it is no regular file")
        raise UnreadableError(place.given, why)


def _check_writable_in(folder: HeldFolder, place: Place) -> None:
    status = _status_in(folder, place)
    if status is None:
        return
    if not status.st_mode & _WRITE_BITS or not folder.may_write(_name_of(place)):
        raise ReadOnlyError(place.given)


def _check_place(place: Place, expected: str | None) -> None:
    """Look once more where a path leads, and at what is there."""
    check_writable(place)
    with _folder_of(place) as folder:
        if (None if folder is None else _digest_in(folder, place)) != expected:
            raise ChangedMeanwhileError(place.given, "the file on disk is another")


def _check_unchanged(folder: HeldFolder, place: Place, expected: str | None) -> None:
    """Look once more, right before the change: what is left is the time of the change itself."""
    if _digest_in(folder, place) != expected:
        raise ChangedMeanwhileError(place.given, "the file on disk is another")


def _name_of(place: Place) -> str:
    return place.real.name or "."


def _has_other_names(folder: HeldFolder, name: str) -> bool:
    try:
        return folder.status(name).st_nlink > 1
    except FileNotFoundError:
        return False


def _move(folder: HeldFolder, name: str, to: HeldFolder, new_name: str) -> None:
    """Move a file, or a link, to another folder; to another disk by copying it."""
    try:
        folder.rename(name, to, new_name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    else:
        return
    status = folder.status(name)
    if stat.S_ISLNK(status.st_mode):
        to.symlink_to(new_name, folder.link_target(name))
    else:
        with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as file:
            write_held(to, new_name, file.read(), stat.S_IMODE(status.st_mode))
    folder.unlink(name)


@contextmanager
def _writing(place: Place) -> Generator[None]:
    try:
        yield
    except LinkInTheWayError as error:
        raise _moved(place, error) from None
    except OSError as error:
        raise UnwritableError(place.given, _why(error)) from None


def _why(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return _SPECIAL[stat.S_IFLNK]
    return error.strerror or str(error)
