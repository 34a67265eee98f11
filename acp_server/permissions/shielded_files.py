"""Files that a command may not see or change if only the sandbox has approved it.

Such a command runs because of one answer for all confined commands, so the user has not
judged what its code reads and writes. All calls block and are bounded. Names and symlinks are
looked at, never contents.
"""

import os
from collections.abc import Iterator, Sequence
from errno import ENOENT
from functools import cache
from pathlib import Path

from acp_server.permissions.resolved_workspace import ResolvedWorkspace
from acp_server.permissions.run_by_others import find_reason, may_be_listed
from acp_server.permissions.word_lists import read_word_lists
from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_ENTRIES = 40_000
MAX_SHIELDED = 200
"""Each of them is a mount in the sandbox."""

Entry = os.DirEntry[str]


@frozen_dataclass
class Shield:
    """Files that the sandbox keeps from one command; all paths are absolute, without symlinks."""

    hidden: tuple[Path, ...] = ()
    """Files that look empty to it, and that it cannot change."""
    read_only: tuple[Path, ...] = ()
    """Files and directories that it can read only."""


class UnshieldableError(Exception):
    """The workspace has too many files, or lacks what has to be kept read-only."""


def find_shield(workspace: ResolvedWorkspace, hook_directories: Sequence[Path]) -> Shield:
    """Return the secrets of a workspace, and the files that other programs run or obey.

    Directories of packages (`unwatched` in `shielded_files.toml`) are not searched.
    `hook_directories` are those that git uses, symlinks resolved.

    Raises:
        UnshieldableError: They cannot all be found or kept.
    """
    found = _ShieldBuilder(workspace)
    for root in workspace.roots:
        found.add_below(root.path)
    for directory in hook_directories:
        found.add_hooks(directory)
    return found.build()


class _ShieldBuilder:
    def __init__(self, workspace: ResolvedWorkspace) -> None:
        self._workspace = workspace
        self._hidden: list[Path] = []
        self._read_only: list[Path] = []
        self._count = 0

    def build(self) -> Shield:
        if len(self._hidden) + len(self._read_only) > MAX_SHIELDED:
            raise UnshieldableError
        return Shield(tuple(self._hidden), tuple(self._read_only))

    def add_below(self, root: Path) -> None:
        """Add the files to shield below a root of the session."""
        folders = [str(root)]
        while folders:
            folder = folders.pop()
            for entry in self._entries(folder):
                if entry.is_symlink():
                    # Its target is found by its own name, or is outside the workspace.
                    continue
                if entry.is_dir(follow_symlinks=False):
                    folders += self._add_directory(entry, root)
                elif self._workspace.is_protected_entry(entry):
                    self._add(self._hidden, entry.path)
                elif _is_run_by_others(entry.name, os.path.relpath(entry.path, root)):
                    self._add(self._read_only, entry.path)

    def _add_directory(self, entry: Entry, root: Path) -> Iterator[str]:
        """Add a directory if it is shielded as a whole; else yield it."""
        if entry.name == ".git":
            self._add_repository(Path(entry.path))
        elif entry.name in _unwatched_names():
            return
        elif self._workspace.is_protected_entry(entry):
            self._hide_all_below(entry.path)
        elif _is_run_by_others(entry.name, f"{os.path.relpath(entry.path, root)}/x"):
            self._add(self._read_only, entry.path)
        else:
            yield entry.path

    def add_hooks(self, directory: Path) -> None:
        """Keep the hooks of a repository, and the settings next to them."""
        # A directory that does not exist cannot be kept from being created.
        if not directory.is_dir() or directory.is_symlink():
            raise UnshieldableError
        settings = [directory.parent / name for name in ("config", "config.worktree")]
        for path in (directory, *(each for each in settings if each.is_file())):
            if path not in self._read_only:
                self._add(self._read_only, str(path))

    def _add_repository(self, folder: Path) -> None:
        """Keep what makes git run programs: the settings and hooks of a repository."""
        if not (folder / "HEAD").exists():
            return
        self.add_hooks(folder / "hooks")
        for head in (folder / "modules").glob("**/HEAD"):
            if (head.parent / "objects").is_dir():
                self.add_hooks(head.parent / "hooks")

    def _hide_all_below(self, folder: str) -> None:
        folders = [folder]
        while folders:
            for entry in self._entries(folders.pop()):
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif not entry.is_symlink():
                    self._add(self._hidden, entry.path)

    def _add(self, paths: list[Path], path: str) -> None:
        if len(paths) >= MAX_SHIELDED:
            raise UnshieldableError
        paths.append(Path(path))

    def _entries(self, folder: str) -> list[Entry]:
        try:
            with os.scandir(folder) as entries:
                found = list(entries)
        except OSError as error:
            # Fail closed: what cannot be listed here may be readable for the command.
            if error.errno == ENOENT:
                return []
            raise UnshieldableError from None
        self._count += len(found)
        if self._count > MAX_ENTRIES:
            raise UnshieldableError
        return found


def _is_run_by_others(name: str, path: str) -> bool:
    """Return whether other programs run or obey a file; `path` is relative to the workspace."""
    return may_be_listed(name) and find_reason(Path(path)) != ""


@cache
def _unwatched_names() -> frozenset[str]:
    return frozenset(read_word_lists(__file__)["unwatched"])
