"""Reads and changes files on the local disk. All calls block.

Security: a pipe or a device is never opened. All access goes through directory descriptors
(`PinnedFolder`), so a link that replaces the file or a directory on its path after the check is
never followed. The expected content is passed in as a digest; the editor is not known here.
"""

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from acp_server.tools.files.encoding import decode
from acp_server.tools.files.errors import (
    FileAlreadyExistsError,
    FileChangedError,
    FileNotReadableError,
    FileNotWritableError,
    HugeFileError,
    PathIsDirectoryError,
    ReadOnlyFileError,
)
from acp_server.tools.files.paths import ResolvedPath, follow_links
from acp_server.tools.files.similar_files import list_entries
from acp_server.tools.files.snapshot import DiskFile, bytes_digest
from skills_store.atomic import write_atomically_in, write_in_place
from skills_store.pinned_folder import PinnedFolder, SymlinkInPathError

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


def read_text_file(resolved: ResolvedPath) -> DiskFile | None:
    """Read a text file; None if it does not exist.

    Raises:
        FileError: It exists, but is not text or is too large.
    """
    with _open_directory(resolved) as folder:
        status = None if folder is None else _stat_in(folder, resolved)
        data = None if folder is None or status is None else _read_in(folder, resolved, status)
    if status is None or data is None:
        return None
    text, form = decode(data, resolved.raw_path)
    return DiskFile(text, form, stat.S_IMODE(status.st_mode), bytes_digest(data))


def stat_file(resolved: ResolvedPath) -> os.stat_result | None:
    """Return the `stat` result of a regular, readable file; None if it does not exist.

    Raises:
        PathIsDirectoryError: It is a directory.
        FileChangedError: A directory on its path was replaced by a link.
        FileNotReadableError: It is not a regular file, or its mode allows no one to read it.
    """
    with _open_directory(resolved) as folder:
        return None if folder is None else _stat_in(folder, resolved)


def open_file(resolved: ResolvedPath) -> BinaryIO:
    """Open a regular file for reading.

    Raises:
        FileNotFoundError: It does not exist.
        FileChangedError: A directory on its path was replaced by a link.
        FileNotReadableError: It is not a regular file, or the system refuses to open it.
    """
    with _open_directory(resolved) as folder:
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(resolved.real))
        return _open_in(folder, resolved)


def check_writable(resolved: ResolvedPath) -> None:
    """Make sure that a path still leads to the same file, and that the file, if any, is writable.

    Raises:
        FileChangedError: A link on the path leads elsewhere now.
        ReadOnlyFileError: Its mode allows no one to write it, or this process may not.
        FileError: It is not a regular file.
    """
    real = follow_links(resolved.path)
    if real != resolved.real:
        raise FileChangedError(resolved.raw_path, f"it leads to {real} now")
    with _open_directory(resolved) as folder:
        status = None if folder is None else _stat_in(folder, resolved)
        if folder is None or status is None:
            return
        if not status.st_mode & _WRITE_BITS or not folder.can_write(_name_of(resolved)):
            raise ReadOnlyFileError(resolved.raw_path)


def disk_digest(resolved: ResolvedPath) -> str | None:
    """Return the digest of a file's bytes, text or not; None if it does not exist."""
    with _open_directory(resolved) as folder:
        return None if folder is None else _digest_in(folder, resolved)


def replace(
    resolved: ResolvedPath, data: bytes, expected_digest: str | None, mode: int | None = None
) -> None:
    """Replace the bytes of a file, atomically unless it has several hard links.

    Missing parent directories are created. `expected` is the digest of the replaced bytes, None
    for a new file. Without a `mode`, the file's mode is kept.

    Raises:
        FileChangedError: The file does not have the expected content.
        FileNotWritableError: The system failed to write it; the file is unchanged.
    """
    check_writable(resolved)
    with _open_or_create_directory(resolved) as folder:
        _check_unchanged(folder, resolved, expected_digest)
        with _translating_errors(resolved):
            name, link_count = resolved.real.name, 0
            with suppress(FileNotFoundError):
                link_count = folder.status(name).st_nlink
            # A file with several hard links is overwritten in place: an atomic rename would give
            # only this name the new content and detach it from the others.
            if link_count > 1:
                write_in_place(folder, name, data)
                if mode is not None:
                    folder.chmod(name, mode)
            else:
                write_atomically_in(folder, name, data, mode)


def remove(resolved: ResolvedPath, expected_digest: str | None) -> None:
    """Delete a file; of a link, the link.

    Raises:
        FileChangedError: The file does not have the expected content.
        FileNotWritableError: The system failed to delete it.
    """
    _check_content(resolved, expected_digest)
    with (
        _translating_errors(resolved),
        PinnedFolder.at_without_links(resolved.entry_path.parent) as folder,
    ):
        if resolved.link_path is None:  # of a link, only the link goes: its target stays as it is
            _check_unchanged(folder, resolved, expected_digest)
        folder.unlink(resolved.entry_path.name)


def rename(resolved: ResolvedPath, target: ResolvedPath, expected_digest: str | None) -> None:
    """Move a file; missing parent directories are created.

    Raises:
        FileAlreadyExistsError: There is a file at the new path.
        FileChangedError: The file does not have the expected content.
        FileNotWritableError: The system failed to move it.
    """
    _check_content(resolved, expected_digest)
    check_not_exists(target)
    with (
        _open_or_create_directory(target) as new_folder,
        _translating_errors(target),
        PinnedFolder.at_without_links(resolved.entry_path.parent) as folder,
    ):
        _move(folder, resolved.entry_path.name, new_folder, target.real.name)


def check_not_exists(resolved: ResolvedPath) -> None:
    """Make sure that there is nothing at a path, not even a dangling link.

    Raises:
        FileAlreadyExistsError: There is something.
    """
    if os.path.lexists(resolved.path) or os.path.lexists(resolved.real):
        raise FileAlreadyExistsError(resolved.raw_path)


@contextmanager
def _open_directory(resolved: ResolvedPath) -> Generator[PinnedFolder | None]:
    """Open the directory of a file's real path by descriptor; None if it does not exist."""
    try:
        folder = PinnedFolder.at_without_links(resolved.real.parent)
    except SymlinkInPathError as error:
        raise _link_error(resolved, error) from None
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    except OSError as error:
        raise FileNotReadableError(resolved.raw_path, _reason_of(error)) from None
    with folder:
        yield folder


@contextmanager
def _open_or_create_directory(resolved: ResolvedPath) -> Generator[PinnedFolder]:
    """Open the directory of a file's real path by descriptor; create it if necessary."""
    with _translating_errors(resolved):
        folder = PinnedFolder.create(resolved.real.parent)
    with folder:
        yield folder


def _link_error(resolved: ResolvedPath, error: SymlinkInPathError) -> FileChangedError:
    return FileChangedError(resolved.raw_path, f"its folder {error.folder} has become a link")


def _stat_in(folder: PinnedFolder, resolved: ResolvedPath) -> os.stat_result | None:
    name = _name_of(resolved)
    try:
        status = folder.status(name)
        entries = list_entries(folder, name) if stat.S_ISDIR(status.st_mode) else None
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise FileNotReadableError(resolved.raw_path, _reason_of(error)) from None
    if entries is not None:
        raise PathIsDirectoryError(resolved.raw_path, *entries)
    _check_regular(resolved, status)  # before anything is opened: opening a device may have effects
    if not status.st_mode & _READ_BITS:
        raise FileNotReadableError(resolved.raw_path, "its mode allows nobody to read it")
    return status


def _open_in(folder: PinnedFolder, resolved: ResolvedPath) -> BinaryIO:
    try:
        descriptor = folder.open(_name_of(resolved), os.O_RDONLY)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise FileNotReadableError(resolved.raw_path, _reason_of(error)) from None
    file = os.fdopen(descriptor, "rb")
    try:
        # Checked on the descriptor: the file may have been replaced since its status was read.
        _check_regular(resolved, os.fstat(descriptor))
    except FileNotReadableError:
        file.close()
        raise
    return file


def _read_in(folder: PinnedFolder, resolved: ResolvedPath, status: os.stat_result) -> bytes | None:
    if status.st_size > MAX_BYTES:
        raise HugeFileError(
            resolved.raw_path, status.st_size, "read some of its lines, or search in it"
        )
    try:
        with _open_in(folder, resolved) as file:
            data = file.read(MAX_BYTES + 1)  # the file may have grown since its size was read
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileNotReadableError(resolved.raw_path, _reason_of(error)) from None
    if len(data) > MAX_BYTES:
        raise HugeFileError(resolved.raw_path, len(data), "it grows while it is read")
    return data


def _digest_in(folder: PinnedFolder, resolved: ResolvedPath) -> str | None:
    status = _stat_in(folder, resolved)
    data = None if status is None else _read_in(folder, resolved, status)
    return None if data is None else bytes_digest(data)


def _check_regular(resolved: ResolvedPath, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        reason = _SPECIAL.get(stat.S_IFMT(status.st_mode), "it is not a regular file")
        raise FileNotReadableError(resolved.raw_path, reason)


def _check_content(resolved: ResolvedPath, expected: str | None) -> None:
    """Check again where a path leads, and that the file has the expected content."""
    check_writable(resolved)
    if disk_digest(resolved) != expected:
        raise FileChangedError(resolved.raw_path, "the file on disk was replaced")


def _check_unchanged(folder: PinnedFolder, resolved: ResolvedPath, expected: str | None) -> None:
    """Check the content again right before the change.

    POSIX has no compare-and-swap for files, so a race remains while the change itself is made.
    """
    if _digest_in(folder, resolved) != expected:
        raise FileChangedError(resolved.raw_path, "the file on disk was replaced")


def _name_of(resolved: ResolvedPath) -> str:
    return resolved.real.name or "."


def _move(folder: PinnedFolder, name: str, new_folder: PinnedFolder, new_name: str) -> None:
    """Move a file or a link to another directory; to another file system by copying it."""
    try:
        folder.rename(name, new_folder, new_name)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
    else:
        return
    status = folder.status(name)
    if stat.S_ISLNK(status.st_mode):
        new_folder.symlink_to(new_name, folder.link_target(name))
    else:
        with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as file:
            write_atomically_in(new_folder, new_name, file.read(), stat.S_IMODE(status.st_mode))
    folder.unlink(name)  # last: a crash before it leaves two files rather than none


@contextmanager
def _translating_errors(resolved: ResolvedPath) -> Generator[None]:
    try:
        yield
    except SymlinkInPathError as error:
        raise _link_error(resolved, error) from None
    except OSError as error:
        raise FileNotWritableError(resolved.raw_path, _reason_of(error)) from None


def _reason_of(error: OSError) -> str:
    if error.errno == errno.ELOOP:
        return _SPECIAL[stat.S_IFLNK]
    return error.strerror or str(error)
