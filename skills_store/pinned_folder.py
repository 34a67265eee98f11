"""Directories pinned by descriptor (openat), so that path changes cannot redirect operations.

A validated path is opened component by component without following symlinks. A symlink that is
swapped in later therefore has no effect. Without directory descriptors (Windows) paths are used,
with a symlink check right before each step.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path, PurePath
from typing import Self

_HAS_DESCRIPTORS = os.open in os.supports_dir_fd
_OPEN_FLAGS: int = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
_NO_FOLLOW: int = getattr(os, "O_NOFOLLOW", 0)
# O_PATH needs search permission only: a parent directory may be unreadable.
_DIRECTORY_FLAGS: int = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY)
_UNNAMED: int | None = getattr(os, "O_TMPFILE", None)
"""Creates a file without a name (Linux)."""


class SymlinkInPathError(OSError):
    """A directory in the path is a symlink; `folder` is its path."""

    def __init__(self, folder: Path) -> None:
        super().__init__(errno.ELOOP, f"its folder {folder} is a link by now", str(folder))
        self.folder = folder


class PinnedFolder:
    """A directory held open by descriptor. Names are its entries; symlinks are not followed."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def at(cls, path: Path) -> Self:
        """Open the directory at a path, following symlinks in it.

        Raises:
            OSError: There is none.
        """
        return cls(path, os.open(path, _DIRECTORY_FLAGS) if _HAS_DESCRIPTORS else None)

    @classmethod
    def at_without_links(cls, path: Path) -> Self:
        """Open the directory at an absolute path that must not contain symlinks.

        Raises:
            SymlinkInPathError: A component of the path is a symlink.
            OSError: There is none.
        """
        with cls.at(Path(path.anchor)) as root:
            return root.descend(path.relative_to(path.anchor))

    @classmethod
    def create(cls, path: Path) -> Self:
        """Open the directory at an absolute path without symlinks, creating missing parts.

        Raises:
            SymlinkInPathError: A component of the path is a symlink.
            OSError: It cannot be created.
        """
        with cls.at(Path(path.anchor)) as root:
            return root.descend(path.relative_to(path.anchor), should_create=True)

    def descend(self, path: PurePath, *, should_create: bool = False) -> Self:
        """Open a directory below this one by a path without symlinks.

        With `should_create`, missing parts are created.

        Raises:
            SymlinkInPathError: A component of the path is a symlink.
            OSError: There is none.
        """
        copy = None if self._descriptor is None else os.dup(self._descriptor)
        folder = type(self)(self.path, copy)
        for name in path.parts:
            with folder:
                folder = folder.enter(name, should_create=should_create)
        return folder

    def enter(self, name: str, *, should_create: bool) -> Self:
        """Open a subdirectory; with `should_create`, create it.

        Raises:
            SymlinkInPathError: It is a symlink.
            OSError: There is none.
        """
        try:
            return self._open_child(name)
        except FileNotFoundError:
            if not should_create:
                raise
        with suppress(FileExistsError):
            os.mkdir(self._system_path(name), dir_fd=self._descriptor)
        return self._open_child(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def status(self, name: str) -> os.stat_result:
        """Return the status of an entry; for a symlink, of the link itself.

        Raises:
            OSError: There is none.
        """
        return os.lstat(self._system_path(name), dir_fd=self._descriptor)

    def target_status(self, name: str) -> os.stat_result:
        """Return the status of an entry's target, following symlinks.

        Raises:
            OSError: There is no target.
        """
        return os.stat(self._system_path(name), dir_fd=self._descriptor)

    def link_target(self, name: str) -> str:
        """Return the target of a symlink.

        Raises:
            OSError: It is not a symlink.
        """
        return os.readlink(self._system_path(name), dir_fd=self._descriptor)

    def can_write(self, name: str) -> bool:
        """Return whether the process has write permission for a file."""
        return os.access(self._system_path(name), os.W_OK, dir_fd=self._descriptor)

    def entries(self) -> list[tuple[str, bool]]:
        """Return the names of the entries, sorted, and whether each is a directory.

        Raises:
            OSError: It cannot be listed.
        """
        if self._descriptor is None:
            return _list_entries(self.path)
        descriptor = os.open(".", os.O_RDONLY, dir_fd=self._descriptor)
        try:
            return _list_entries(descriptor)
        finally:
            os.close(descriptor)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a file without blocking (as a FIFO would) and return its descriptor.

        Raises:
            OSError: There is none, or it is a symlink.
        """
        flags |= _OPEN_FLAGS | _NO_FOLLOW
        return os.open(self._system_path(name), flags, mode, dir_fd=self._descriptor)

    def open_unnamed(self, mode: int) -> int | None:
        """Create a file for writing that has no name yet, and vanishes if it never gets one.

        Return its descriptor, or None if the system or the file system has no such files.
        """
        if self._descriptor is None or _UNNAMED is None:
            return None
        try:
            return os.open(".", os.O_WRONLY | _UNNAMED, mode, dir_fd=self._descriptor)
        except OSError:  # if the reason is another one, a file with a name fails as well
            return None

    def name_unnamed(self, descriptor: int, name: str) -> bool:
        """Give a file of `open_unnamed` a name that is free; return whether the system can."""
        entry = f"/proc/self/fd/{descriptor}"
        try:
            os.link(entry, name, dst_dir_fd=self._descriptor, follow_symlinks=True)
        except OSError:  # no /proc, or a file system of its own kind
            return False
        return True

    def chmod(self, name: str, mode: int) -> None:
        """Set the mode of a readable file.

        Raises:
            OSError: It is a symlink, or the system refuses.
        """
        if self._descriptor is None:
            (self.path / name).chmod(mode)
            return
        descriptor = self.open(name, os.O_RDONLY)
        try:
            os.fchmod(descriptor, mode)
        finally:
            os.close(descriptor)

    def unlink(self, name: str) -> None:
        """Delete a file, or a symlink itself.

        Raises:
            OSError: There is none, or the system refuses.
        """
        os.unlink(self._system_path(name), dir_fd=self._descriptor)

    def rmdir(self, name: str) -> None:
        """Delete an empty directory.

        Raises:
            OSError: It is not an empty directory.
        """
        os.rmdir(self._system_path(name), dir_fd=self._descriptor)

    def rename(self, name: str, target: "PinnedFolder", new_name: str) -> None:
        """Move an entry, replacing a file that has the new name.

        Raises:
            OSError: The system refuses, for example because the target is on another file system.
        """
        os.replace(
            self._system_path(name),
            target._system_path(new_name),  # noqa: SLF001  the same class
            src_dir_fd=self._descriptor,
            dst_dir_fd=target._descriptor,  # noqa: SLF001  the same class
        )

    def symlink_to(self, name: str, target: str) -> None:
        """Create a symlink.

        Raises:
            OSError: The name is taken, or the system refuses.
        """
        os.symlink(target, self._system_path(name), dir_fd=self._descriptor)

    def sync(self) -> None:
        """Make renames durable (fsync), if the system can open the directory for that."""
        if self._descriptor is None:
            return
        with suppress(OSError):
            descriptor = os.open(".", os.O_RDONLY, dir_fd=self._descriptor)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _system_path(self, name: str) -> str:
        """Return the name as system calls need it: relative to the descriptor, or a full path."""
        return name if self._descriptor is not None else os.path.join(self.path, name)  # noqa: PTH118

    def _open_child(self, name: str) -> Self:
        path = self.path / name
        if self._descriptor is None:
            if stat.S_ISLNK(path.lstat().st_mode):
                raise SymlinkInPathError(path)
            return type(self)(path, None)
        try:
            descriptor = os.open(name, _DIRECTORY_FLAGS | _NO_FOLLOW, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR} and self._is_link(name):
                raise SymlinkInPathError(path) from None
            raise
        return type(self)(path, descriptor)

    def _is_link(self, name: str) -> bool:
        try:
            return stat.S_ISLNK(self.status(name).st_mode)
        except OSError:
            return False


def _list_entries(folder: int | Path) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return sorted((entry.name, _is_folder(entry)) for entry in entries)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
