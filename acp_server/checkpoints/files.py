"""Reads and writes files on disk without following symlinks. Blocks.

Does not check permissions: the caller has asked before it writes.
"""

import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from acp_server.checkpoints.objects import object_name
from acp_server.checkpoints.records import FileVersion
from acp_server.startup.fast_dataclass import frozen_dataclass
from skills_store.atomic import write_atomically_in, write_in_place
from skills_store.pinned_folder import PinnedFolder, SymlinkInPathError

_OWNER_WRITES = 0o200


@frozen_dataclass
class FileImage:
    """A file with its content; of a symlink, its target."""

    kind: Literal["file", "link"]
    data: bytes
    mode: int = 0

    @property
    def version(self) -> FileVersion:
        """The same file with its content by name."""
        return FileVersion(self.kind, object_name(self.data), self.mode)


class ObstacleError(OSError):
    """The path holds neither a file nor a symlink, or something unexpected."""


class DirectoryObstacleError(ObstacleError):
    """The path is a directory."""


def read_file_image(path: Path) -> FileImage | None:
    """Return the file at a path; None if there is none, or only behind a symlink.

    Raises:
        DirectoryObstacleError: it is a directory.
        ObstacleError: it is a special file.
        OSError: it cannot be read.
    """
    try:
        with PinnedFolder.at_without_links(path.parent) as folder:
            return _read_in(folder, path.name)
    except (FileNotFoundError, NotADirectoryError, SymlinkInPathError):
        return None


def replace_file(path: Path, image: FileImage | None, expected: FileVersion | None) -> None:
    """Replace the file at a path, symlinks not followed, if it is in the expected state.

    `image` None deletes it; `expected` None means that it must not exist. Creates
    directories as needed; replaces an empty directory.

    Raises:
        ObstacleError: the path holds something else.
        OSError: the system refuses, or a directory above is a symlink; the path is unchanged.
    """
    try:
        open_folder = PinnedFolder.at_without_links if image is None else PinnedFolder.create
        folder = open_folder(path.parent)
    except (FileNotFoundError, NotADirectoryError, SymlinkInPathError):
        if image is None and expected is None:
            return
        raise
    with folder:
        _replace_in(folder, path.name, image, expected)


def remove_empty_directory(path: Path) -> None:
    """Remove an empty directory, symlinks not followed.

    Raises:
        OSError: it is not empty, not a directory, or a directory above it is a symlink.
    """
    with PinnedFolder.at_without_links(path.parent) as folder:
        folder.rmdir(path.name)


def _read_in(folder: PinnedFolder, name: str) -> FileImage | None:
    try:
        status = folder.status(name)
        if stat.S_ISLNK(status.st_mode):
            return FileImage("link", os.fsencode(folder.link_target(name)))
        if stat.S_ISDIR(status.st_mode):
            message = f"{name} is a directory"
            raise DirectoryObstacleError(message)
        if not stat.S_ISREG(status.st_mode):
            message = f"{name} is not a regular file"
            raise ObstacleError(message)
        with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as file:
            return FileImage("file", file.read(), stat.S_IMODE(os.fstat(file.fileno()).st_mode))
    except FileNotFoundError:
        return None


def _replace_in(
    folder: PinnedFolder, name: str, image: FileImage | None, expected: FileVersion | None
) -> None:
    if image is not None and expected is None:
        with suppress(OSError):  # anything else is reported below as an obstacle
            folder.rmdir(name)
    found = _read_in(folder, name)
    # Compared through the open directory, so a swapped path cannot redirect the write.
    if (None if found is None else found.version) != expected:
        message = f"{name} changed in the meantime"
        raise ObstacleError(message)
    if image is None:
        if found is not None:
            folder.unlink(name)
    elif image.kind == "link":
        target = os.fsdecode(image.data)
        _write_and_rename(folder, name, lambda beside: folder.symlink_to(beside, target))
    elif found is not None and found.kind == "file" and folder.status(name).st_nlink > 1:
        _write_in_place(folder, name, image)
    elif found is not None and found.kind == "link":  # never read or write through the link
        data, mode = image.data, image.mode
        _write_and_rename(
            folder, name, lambda beside: write_atomically_in(folder, beside, data, mode)
        )
    else:
        write_atomically_in(folder, name, image.data, image.mode)


def _write_in_place(folder: PinnedFolder, name: str, image: FileImage) -> None:
    """Write into a file with several hard links, so that all of them show the new content."""
    mode = stat.S_IMODE(folder.status(name).st_mode)
    # A read-only file cannot be opened for writing; the mode is set to its final value below.
    folder.chmod(name, image.mode | _OWNER_WRITES)
    try:
        write_in_place(folder, name, image.data)
        mode = image.mode
    finally:
        folder.chmod(name, mode)


def _write_and_rename(folder: PinnedFolder, name: str, create: Callable[[str], None]) -> None:
    """Create something under a temporary name and rename it to its place."""
    temporary = f".{secrets.token_hex(8)}"
    create(temporary)
    try:
        folder.rename(temporary, folder, name)
    finally:  # after a successful rename it is gone
        with suppress(FileNotFoundError):
            folder.unlink(temporary)
