"""Snapshot of one root: selects its files and stores them. Blocks.

Stores tracked and untracked files, except those that git ignores (`include` adds some), those that
are too large, and nested repositories. Files unchanged since the last snapshot are not read again:
the index knows their stat data. The first snapshot of a repository begins with its own index.
"""

import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.checkpoints.errors import CheckpointStoreError
from acp_server.checkpoints.git import (
    TIMED_OUT,
    GitError,
    SnapshotGit,
    SnapshotTimeoutError,
    join_nul,
    split_nul,
)
from acp_server.checkpoints.manifests import Manifest, OmittedFile, StatFingerprint
from acp_server.checkpoints.records import FileVersion
from acp_server.checkpoints.seeded_index import UserRepository, seed_index

CHUNK_FILES = 1_000
"""Files stored per git call; when time runs out, completed chunks stay stored."""
MAX_IGNORED = 2_000
"""How many ignored files and directories are watched for changes."""
_LINK_MODE = "120000"
_PATTERN_SIGNS = re.compile(r"([*?\[\]\\!# ])")


@dataclass(slots=True)
class RootSnapshot:
    """Takes one snapshot of one root."""

    git: SnapshotGit
    config: CheckpointConfig
    excluded_directory: Path
    """This program's own directory: never part of a snapshot."""
    free_bytes: int
    """How many more bytes may be stored."""
    stored_bytes: int = field(default=0, init=False)
    _plain_folders: dict[str, bool] = field(default_factory=dict[str, bool], init=False)
    _omitted: dict[str, OmittedFile] = field(default_factory=dict[str, OmittedFile], init=False)

    def take(self) -> Manifest:
        """Store all files as they are now.

        Raises:
            SnapshotTimeoutError: there was not even time to list them.
            CheckpointStoreError: git failed, or there are too many files.
        """
        began_at = time.time()
        self._seed()
        self._store(self._candidates())
        states, folders = dict(self._states()), self._empty_directories()
        return Manifest(began_at, states, self._omitted, folders, ignored=self._ignored())

    def store_all(self, hold_lock: Callable[[], AbstractContextManager[None]]) -> None:
        """Store all files, however long it takes; the lock is held for some at a time.

        Raises:
            SnapshotTimeoutError: the deadline has passed.
            CheckpointStoreError: git failed, or there are too many files.
        """
        with hold_lock():
            self._seed()
        names = self._candidates()
        for start in range(0, len(names), CHUNK_FILES):
            with hold_lock():
                self._store(names[start : start + CHUNK_FILES])

    def _seed(self) -> None:
        """Begin with the user's own index, if git knows the files already."""
        user = user_repository(self.git.tree)
        if user is not None:
            with suppress(GitError):  # an index of an unsupported form; all files are read
                seed_index(self.git, user, self.config.max_file_bytes)

    def _candidates(self) -> list[str]:
        """Return the files that are new, changed or deleted since the index was written."""
        excludes = ["--exclude-standard", *self._excluded_by_repository()]
        if self.excluded_directory.is_relative_to(self.git.tree):
            name = self.excluded_directory.relative_to(self.git.tree).as_posix()
            escaped = _PATTERN_SIGNS.sub(r"\\\1", name)
            excludes.append(f"--exclude=/{escaped}")
        names = self.git.names("--others", "--modified", *excludes)
        names += self._tracked_though_ignored(excludes)
        if self.config.include:
            include_options = [f"--exclude={pattern}" for pattern in self.config.include]
            names += self.git.names("--others", "--ignored", *include_options)
        unique = list(dict.fromkeys(names))
        if len(unique) > self.config.max_files:
            reason = f"there are more than {self.config.max_files:,} files"
            raise CheckpointStoreError(reason)
        return unique

    def _excluded_by_repository(self) -> Iterator[str]:
        found = user_repository(self.git.tree)
        if found is not None and (found.shared / "info/exclude").is_file():
            yield f"--exclude-from={found.shared / 'info/exclude'}"

    def _tracked_though_ignored(self, excludes: Iterable[str]) -> list[str]:
        """Return the ignored files that the user's own index tracks; the index is only read."""
        found = user_repository(self.git.tree)
        if found is None or not (found.folder / "index").is_file():
            return []
        try:
            return self.git.names("--cached", "--ignored", *excludes, index=found.folder / "index")
        except GitError:  # unsupported index format; other files are stored
            return []

    def _store(self, names: Iterable[str]) -> None:
        """Update the index; note the files that time or space does not suffice for."""
        storable: list[tuple[int, str]] = []
        deleted: list[str] = []
        for name in names:
            status = self._status(name)
            if status is None:
                deleted.append(name)
            elif reason := self._omission_reason(name, status):
                self._omit(name, reason, status)
            else:
                storable.append((status.st_size, name))
        self._update(deleted, "--force-remove")
        # Small files first, so that as many as possible are stored within the limits.
        ordered = [name for _, name in sorted(storable) if self._fits(name)]
        for start in range(0, len(ordered), CHUNK_FILES):
            self._add(ordered[start : start + CHUNK_FILES])

    def _omission_reason(self, name: str, status: os.stat_result) -> str:
        """Return why a file is not stored; empty if it is."""
        if stat.S_ISLNK(status.st_mode):
            return ""
        if name.endswith("/"):
            return "it is a separate repository"
        if not stat.S_ISREG(status.st_mode):
            return "it is not a regular file"
        if status.st_size > self.config.max_file_bytes:
            return f"it is larger than {self.config.max_file_mb:g} MB"
        return "" if os.access(self._path(name), os.R_OK) else "it cannot be read"

    def _fits(self, name: str) -> bool:
        status = self._status(name)
        if status is not None and self.stored_bytes + status.st_size > self.free_bytes:
            limit = f"{self.config.max_total_mb:g}"
            self._omit(name, f"checkpoints would take more than {limit} MB", status)
            return False
        self.stored_bytes += status.st_size if status else 0
        return True

    def _add(self, names: list[str]) -> None:
        """Store some files; if git fails on one, the others are stored nevertheless."""
        try:
            self._update(names, "--add", "--replace", "--remove")
        except SnapshotTimeoutError:
            self._omit_all(names, TIMED_OUT)
        except GitError as error:
            if len(names) == 1:
                self._omit_all(names, error.reason)
                return
            # git does not say which file failed, so search for it by halves.
            middle = len(names) // 2
            self._add(names[:middle])
            self._add(names[middle:])

    def _update(self, names: list[str], *options: str) -> None:
        if names:
            # The lock file of a git that was killed. Safe because we hold the store's lock, so no
            # other process uses this index.
            self.git.index.with_name(f"{self.git.index.name}.lock").unlink(missing_ok=True)
            in_tree = ("-C", str(self.git.tree))
            self.git.run(*in_tree, "update-index", *options, "-z", "--stdin", stdin=join_nul(names))

    def _omit_all(self, names: Iterable[str], reason: str) -> None:
        for name in names:
            status = self._status(name)
            if status is not None:
                self._omit(name, reason, status)

    def _omit(self, name: str, reason: str, status: os.stat_result) -> None:
        self._omitted[self._path(name)] = OmittedFile(reason, fingerprint_of(status))

    def _states(self) -> Iterator[tuple[str, FileVersion]]:
        """Yield the files whose index entry still matches the disk."""
        output = self.git.run("ls-files", "-z", "--full-name", "--stage")
        for line in split_nul(output):
            facts, _, name = line.partition("\t")
            mode, blob, _ = facts.split(" ")
            path = self._path(name)
            # The index may hold an older content of a file that was not stored this time.
            status = None if path in self._omitted else self._status(name)
            if status is None:
                continue
            is_link = mode == _LINK_MODE
            if is_link == stat.S_ISLNK(status.st_mode) and not stat.S_ISDIR(status.st_mode):
                kept_mode = 0 if is_link else stat.S_IMODE(status.st_mode)
                yield path, FileVersion("link" if is_link else "file", blob, kept_mode)

    def _empty_directories(self) -> frozenset[str]:
        names = self.git.names("--others", "--directory", "--exclude-standard")
        return frozenset(self._path(name) for name in names if name.endswith("/"))

    def _ignored(self) -> frozenset[str]:
        """Return the files that git ignores, to report their changes; empty if time runs out."""
        options = ("--others", "--ignored", "--directory", "--exclude-standard")
        try:
            names = self.git.names(*options, *self._excluded_by_repository())
        except (GitError, SnapshotTimeoutError):
            return frozenset()
        excluded = str(self.excluded_directory)
        paths = (self._path(name) for name in names[:MAX_IGNORED])
        return frozenset(path for path in paths if not f"{excluded}/".startswith(f"{path}/"))

    def _status(self, name: str) -> os.stat_result | None:
        """Return the stat result of a file; None if it does not exist, or only behind a symlink."""
        folder = name.rstrip("/").rpartition("/")[0]
        if not self._is_plain(folder):
            return None
        try:
            status = os.lstat(self._path(name))
        except OSError:
            return None
        return None if stat.S_ISDIR(status.st_mode) and not name.endswith("/") else status

    def _is_plain(self, folder: str) -> bool:
        """Return whether no part of a directory's path, from the tree's top, is a symlink."""
        if not folder:
            return True
        if folder not in self._plain_folders:
            parent = folder.rpartition("/")[0]
            is_plain = self._is_plain(parent) and _is_folder(self._path(folder))
            self._plain_folders[folder] = is_plain
        return self._plain_folders[folder]

    def _path(self, name: str) -> str:
        return f"{str(self.git.tree).rstrip('/')}/{name.rstrip('/')}"


def probe(path: str) -> tuple[StatFingerprint, float] | None:
    """Return a file's fingerprint and ctime in seconds; None if it does not exist."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return fingerprint_of(status), status.st_ctime


def fingerprint_of(status: os.stat_result) -> StatFingerprint:
    """Return the fingerprint that shows whether a file has changed; empty for a directory."""
    if stat.S_ISDIR(status.st_mode):
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def tree_of(root: Path) -> Path:
    """Return the directory whose ignore files apply to a root: the top of its repository."""
    return next((each for each in (root, *root.parents) if _is_repository(each / ".git")), root)


def _is_repository(path: Path) -> bool:
    """Return whether git would treat it as a repository: an empty `.git` directory is none."""
    return path.is_file() or (path / "HEAD").exists()


def user_repository(tree: Path) -> UserRepository | None:
    """Return the repository of a working tree without running git; None if there is none."""
    folder = tree / ".git"
    try:
        if folder.is_file():
            pointer = folder.read_text().strip()
            folder = (tree / pointer.removeprefix("gitdir:").strip()).resolve()
        shared = folder / "commondir"
        common = folder / shared.read_text().strip() if shared.is_file() else folder
    except (OSError, UnicodeDecodeError):
        return None
    return UserRepository(folder, common) if folder.is_dir() else None


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
