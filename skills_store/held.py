"""Folders held open: what is done in one is done there, whatever its path becomes meanwhile.

A folder that was looked at is opened part by part, and none of them may be a link: so a link that
is put in the place of one of them leads nobody elsewhere. Where the system knows no such
descriptors (Windows), paths are used, and links are looked for right before.
"""

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path, PurePath
from types import TracebackType
from typing import Self

_HAS_DESCRIPTORS = os.open in os.supports_dir_fd
_LOOKING: int = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
_NO_LINK: int = getattr(os, "O_NOFOLLOW", 0)
# With O_PATH a folder may be passed through that may not be listed.
_FOLDER: int = getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_PATH", os.O_RDONLY)


class LinkInTheWayError(OSError):
    """A folder on the way is a link; `folder` is its path."""

    def __init__(self, folder: Path) -> None:
        super().__init__(errno.ELOOP, f"its folder {folder} is a link by now", str(folder))
        self.folder = folder


class HeldFolder:
    """A folder that stays the one it was. Names are those of its entries; no link is followed."""

    __slots__ = ("_descriptor", "path")

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self.path = path
        self._descriptor = descriptor

    @classmethod
    def at(cls, path: Path) -> Self:
        """Hold the folder that a path leads to, by links too.

        Raises:
            OSError: there is none.
        """
        return cls(path, os.open(path, _FOLDER) if _HAS_DESCRIPTORS else None)

    @classmethod
    def plain(cls, path: Path) -> Self:
        """Hold the folder of an absolute path without links in it.

        Raises:
            LinkInTheWayError: a part of the path is a link.
            OSError: there is none.
        """
        with cls.at(Path(path.anchor)) as top:
            return top.below(path.relative_to(path.anchor))

    @classmethod
    def made(cls, path: Path) -> Self:
        """Hold the folder of an absolute path without links in it; what is not there is made.

        Raises:
            LinkInTheWayError: a part of the path is a link.
            OSError: it cannot be made.
        """
        with cls.at(Path(path.anchor)) as top:
            return top.below(path.relative_to(path.anchor), makes=True)

    def below(self, path: PurePath, *, makes: bool = False) -> Self:
        """Hold a folder below this one, by a path without links in it; with `makes`, make it.

        Raises:
            LinkInTheWayError: a part of the path is a link.
            OSError: there is none.
        """
        copy = None if self._descriptor is None else os.dup(self._descriptor)
        folder = type(self)(self.path, copy)
        for name in path.parts:
            with folder:
                folder = folder.entered(name, makes=makes)
        return folder

    def entered(self, name: str, *, makes: bool) -> Self:
        """Hold a folder in this one; with `makes`, make it.

        Raises:
            LinkInTheWayError: it is a link.
            OSError: there is none.
        """
        try:
            return self._entry(name)
        except FileNotFoundError:
            if not makes:
                raise
        with suppress(FileExistsError):
            os.mkdir(self._at(name), dir_fd=self._descriptor)
        return self._entry(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)

    def status(self, name: str) -> os.stat_result:
        """Return what the system says of an entry; of a link, of the link.

        Raises:
            OSError: there is none.
        """
        return os.lstat(self._at(name), dir_fd=self._descriptor)

    def status_behind(self, name: str) -> os.stat_result:
        """Return what the system says of where an entry leads.

        Raises:
            OSError: it leads nowhere.
        """
        return os.stat(self._at(name), dir_fd=self._descriptor)

    def link_target(self, name: str) -> str:
        """Return what a link says.

        Raises:
            OSError: it is none.
        """
        return os.readlink(self._at(name), dir_fd=self._descriptor)

    def may_write(self, name: str) -> bool:
        """Whether the system would let us write a file."""
        return os.access(self._at(name), os.W_OK, dir_fd=self._descriptor)

    def entries(self) -> list[tuple[str, bool]]:
        """Return the names in it, sorted, and whether each is a folder.

        Raises:
            OSError: it cannot be listed.
        """
        if self._descriptor is None:
            return _listed(self.path)
        descriptor = os.open(".", os.O_RDONLY, dir_fd=self._descriptor)
        try:
            return _listed(descriptor)
        finally:
            os.close(descriptor)

    def open(self, name: str, flags: int, mode: int = 0o600) -> int:
        """Open a file without waiting for anybody; return its descriptor.

        Raises:
            OSError: there is none, or it is a link.
        """
        flags |= _LOOKING | _NO_LINK
        return os.open(self._at(name), flags, mode, dir_fd=self._descriptor)

    def chmod(self, name: str, mode: int) -> None:
        """Set the mode of a file that may be read.

        Raises:
            OSError: it is a link, or the system refuses.
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
        """Delete a file; of a link, the link.

        Raises:
            OSError: there is none, or the system refuses.
        """
        os.unlink(self._at(name), dir_fd=self._descriptor)

    def rmdir(self, name: str) -> None:
        """Delete an empty folder.

        Raises:
            OSError: it is none.
        """
        os.rmdir(self._at(name), dir_fd=self._descriptor)

    def rename(self, name: str, to: "HeldFolder", new_name: str) -> None:
        """Move an entry, in the place of a file that has that name there.

        Raises:
            OSError: the system refuses, for one because it lies on another disk.
        """
        os.replace(
            self._at(name),
            to._at(new_name),  # noqa: SLF001  the same class
            src_dir_fd=self._descriptor,
            dst_dir_fd=to._descriptor,  # noqa: SLF001  the same class
        )

    def symlink_to(self, name: str, target: str) -> None:
        """Make a link.

        Raises:
            OSError: the name is taken, or the system refuses.
        """
        os.symlink(target, self._at(name), dir_fd=self._descriptor)

    def sync(self) -> None:
        """Make what was renamed durable, where a folder can be opened for that."""
        if self._descriptor is None:
            return
        with suppress(OSError):
            descriptor = os.open(".", os.O_RDONLY, dir_fd=self._descriptor)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def _at(self, name: str) -> str:
        """Return the name as the system is to be given it."""
        return name if self._descriptor is not None else os.path.join(self.path, name)  # noqa: PTH118

    def _entry(self, name: str) -> Self:
        """Hold a folder in this one."""
        path = self.path / name
        if self._descriptor is None:
            if stat.S_ISLNK(path.lstat().st_mode):
                raise LinkInTheWayError(path)
            return type(self)(path, None)
        try:
            descriptor = os.open(name, _FOLDER | _NO_LINK, dir_fd=self._descriptor)
        except OSError as error:
            if error.errno in {errno.ELOOP, errno.ENOTDIR} and self._is_link(name):
                raise LinkInTheWayError(path) from None
            raise
        return type(self)(path, descriptor)

    def _is_link(self, name: str) -> bool:
        try:
            return stat.S_ISLNK(self.status(name).st_mode)
        except OSError:
            return False


def _listed(folder: int | Path) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return sorted((entry.name, _is_folder(entry)) for entry in entries)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False
