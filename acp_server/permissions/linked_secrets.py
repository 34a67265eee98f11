"""Protected files that have further names: hard links. Looks at names and inodes. Blocks.

A hard link shares its content with a protected file and has an ordinary name. It is recognised if
the protected name is in one of the directories that are looked at, or in the file's own directory
or one above it. All other directories would take too long to look at.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from acp_server.permissions.protected_names import is_protected_directory, is_protected_file

MAX_ENTRIES = 2_000
"""Entries of a directory that are looked at."""
MAX_SEARCHED = 40_000
"""Entries below a directory that are looked at for further names."""

FileId = tuple[int, int]


@dataclass(slots=True)
class LinkedSecrets:
    """Finds files that are hard links of protected files, for one decision."""

    directories: Sequence[Path]
    """Directories that are looked at in any case."""
    _found: dict[Path, frozenset[FileId]] = field(
        default_factory=dict[Path, frozenset[FileId]], init=False
    )
    _inodes: frozenset[int] | None = field(default=None, init=False)

    def contains(self, path: Path) -> bool:
        """Return whether a file, symlinks resolved, is another name of a protected file."""
        try:
            facts = path.lstat()
        except (OSError, ValueError):
            return False
        if not stat.S_ISREG(facts.st_mode) or facts.st_nlink < 2:  # noqa: PLR2004  a second name
            return False
        nearby = (each for each in path.parents if any(map(each.is_relative_to, self.directories)))
        return any(
            (facts.st_dev, facts.st_ino) in self._ids_in(directory)
            for directory in (*self.directories, *nearby)
        )

    def contains_entry(self, entry: "os.DirEntry[str]") -> bool:
        """Return whether an entry that is a file is a link of a file in `directories`; fast."""
        if self._inodes is None:
            ids = map(self._ids_in, self.directories)
            self._inodes = frozenset(inode for each in ids for _, inode in each)
        return bool(self._inodes) and entry.inode() in self._inodes

    def find_below(self, root: Path) -> Iterator[Path]:
        """Yield the files below a directory that are links of files in `directories`."""
        # Usually there are none, and then nothing is searched.
        if not any(map(self._ids_in, self.directories)):
            return
        folders, count = [root], 0
        while folders and count < MAX_SEARCHED:
            for entry in _entries(folders.pop()):
                count += 1
                if entry.is_dir(follow_symlinks=False):
                    folders.append(Path(entry.path))
                elif self.contains_entry(entry):
                    yield Path(entry.path)

    def _ids_in(self, directory: Path) -> frozenset[FileId]:
        if directory not in self._found:
            self._found[directory] = frozenset(_linked_ids(directory))
        return self._found[directory]


def _linked_ids(directory: Path) -> Iterator[FileId]:
    for entry in _entries(directory):
        if entry.is_dir(follow_symlinks=False):
            inner = _entries(Path(entry.path)) if is_protected_directory(entry.name) else ()
            yield from (found for each in inner for found in _id_of(each))
        elif is_protected_file(entry.name):
            yield from _id_of(entry)


def _entries(directory: Path) -> Sequence["os.DirEntry[str]"]:
    try:
        with os.scandir(directory) as entries:
            return list(islice(entries, MAX_ENTRIES))
    except OSError:
        return ()


def _id_of(entry: "os.DirEntry[str]") -> Iterator[FileId]:
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return
    if stat.S_ISREG(facts.st_mode) and facts.st_nlink > 1:
        yield facts.st_dev, facts.st_ino
