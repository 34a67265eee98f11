"""A snapshot of one root: which of its files are kept, and keeping them. It blocks.

All tracked and untracked files are, but those that git ignores (`include` brings some back), those
that are too large, and other repositories inside. What is unchanged since the last snapshot is not
read again: the index knows its marks.
"""

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.checkpoints.errors import KeepingError
from acp_server.checkpoints.git import LATE, Git, GitError, LateError, joined, split
from acp_server.checkpoints.manifests import Manifest, Marks, Unkept
from acp_server.checkpoints.records import State
from acp_server.checkpoints.rules import CheckpointRules
from acp_server.frozen import frozen

CHUNK_FILES = 1_000
"""So many are kept at a time; what is kept is kept, whenever the time ends."""
MOST_IGNORED = 2_000
"""So many ignored files and folders are watched for changes."""
_LINK_MODE = "120000"
_PATTERN_SIGNS = re.compile(r"([*?\[\]\\!# ])")


@dataclass(slots=True)
class RootSnapshot:
    """One look at one root."""

    git: Git
    rules: CheckpointRules
    own_folder: Path
    """Where this program keeps its own things: never part of a snapshot."""
    room_bytes: int
    """How much more may be kept."""
    taken_bytes: int = field(default=0, init=False)
    _plain_folders: dict[str, bool] = field(default_factory=dict[str, bool], init=False)
    _unkept: dict[str, Unkept] = field(default_factory=dict[str, Unkept], init=False)

    def take(self) -> Manifest:
        """Keep all files as they are now.

        Raises:
            LateError: there was no time even to list them.
            KeepingError: git failed, or there are too many.
        """
        began_at = time.time()
        self._keep(self._candidates())
        states, folders = dict(self._states()), self._bare_folders()
        return Manifest(began_at, states, self._unkept, folders, ignored=self._ignored())

    def _candidates(self) -> list[str]:
        """Return what is new or changed since the index was written, and what is gone."""
        listed = ("--exclude-standard", *self._more_excludes())
        names = self.git.names("--others", "--modified", *listed)
        names += self._tracked_though_ignored(listed)
        if self.rules.include:
            wanted = [f"--exclude={pattern}" for pattern in self.rules.include]
            names += self.git.names("--others", "--ignored", *wanted)
        unique = list(dict.fromkeys(names))
        if len(unique) > self.rules.most_files:
            reason = f"there are more than {self.rules.most_files:,} files"
            raise KeepingError(reason)
        return unique

    def _excluded_by_repository(self) -> Iterator[str]:
        found = _repository_of(self.git.tree)
        if found is not None and (found.shared / "info/exclude").is_file():
            yield f"--exclude-from={found.shared / 'info/exclude'}"

    def _more_excludes(self) -> Iterator[str]:
        yield from self._excluded_by_repository()
        if self.own_folder.is_relative_to(self.git.tree):
            name = self.own_folder.relative_to(self.git.tree).as_posix()
            escaped = _PATTERN_SIGNS.sub(r"\\\1", name)
            yield f"--exclude=/{escaped}"

    def _tracked_though_ignored(self, listed: Iterable[str]) -> list[str]:
        """Return what the user's own index holds although it is ignored; it is only read."""
        found = _repository_of(self.git.tree)
        if found is None or not (found.folder / "index").is_file():
            return []
        try:
            return self.git.names("--cached", "--ignored", *listed, index=found.folder / "index")
        except GitError:  # of a kind that cannot be read so; what is not ignored is kept
            return []

    def _keep(self, names: Iterable[str]) -> None:
        """Bring the index up to date; what there is no time or no room for is noted."""
        wanted: list[tuple[int, str]] = []
        gone: list[str] = []
        for name in names:
            status = self._status(name)
            if status is None:
                gone.append(name)
            elif reason := self._why_not(name, status):
                self._leave(name, reason, status)
            else:
                wanted.append((status.st_size, name))
        self._update(gone, "--force-remove")
        ordered = [name for _, name in sorted(wanted) if self._has_room(name)]
        for start in range(0, len(ordered), CHUNK_FILES):
            self._add(ordered[start : start + CHUNK_FILES])

    def _why_not(self, name: str, status: os.stat_result) -> str:
        """Return why a file is not kept; nothing if it is."""
        if stat.S_ISLNK(status.st_mode):
            return ""
        if name.endswith("/"):
            return "it is a repository of its own"
        if not stat.S_ISREG(status.st_mode):
            return "it is no regular file"
        if status.st_size > self.rules.max_file_bytes:
            return f"it is larger than {self.rules.max_file_mb:g} MB"
        return "" if os.access(self._path(name), os.R_OK) else "it cannot be read"

    def _has_room(self, name: str) -> bool:
        status = self._status(name)
        if status is not None and self.taken_bytes + status.st_size > self.room_bytes:
            most = f"{self.rules.max_total_mb:g}"
            self._leave(name, f"all that is kept would be more than {most} MB", status)
            return False
        self.taken_bytes += status.st_size if status else 0
        return True

    def _add(self, names: list[str]) -> None:
        """Keep some files; where git fails on one, the others are kept all the same."""
        try:
            self._update(names, "--add", "--replace", "--remove")
        except LateError:
            self._leave_all(names, LATE)
        except GitError as error:
            if len(names) == 1:
                self._leave_all(names, error.reason)
                return
            middle = len(names) // 2
            self._add(names[:middle])
            self._add(names[middle:])

    def _update(self, names: list[str], *how: str) -> None:
        if names:
            self._unlock()
            top = ("-C", str(self.git.tree))
            self.git.run(*top, "update-index", *how, "-z", "--stdin", given=joined(names))

    def _unlock(self) -> None:
        """Remove the lock of a git that was killed: we hold the store's, so it is nobody's."""
        self.git.index.with_name(f"{self.git.index.name}.lock").unlink(missing_ok=True)

    def _leave_all(self, names: Iterable[str], reason: str) -> None:
        for name in names:
            status = self._status(name)
            if status is not None:
                self._leave(name, reason, status)

    def _leave(self, name: str, reason: str, status: os.stat_result) -> None:
        self._unkept[self._path(name)] = Unkept(reason, marks_of(status))

    def _states(self) -> Iterator[tuple[str, State]]:
        """Yield what the index holds and is there as it says."""
        output = self.git.run("ls-files", "-z", "--full-name", "--stage")
        for line in split(output):
            facts, _, name = line.partition("\t")
            mode, blob, _ = facts.split(" ")
            path = self._path(name)
            status = None if path in self._unkept else self._status(name)
            if status is None:
                continue
            is_link = mode == _LINK_MODE
            if is_link == stat.S_ISLNK(status.st_mode) and not stat.S_ISDIR(status.st_mode):
                kept_mode = 0 if is_link else stat.S_IMODE(status.st_mode)
                yield path, State("link" if is_link else "file", blob, kept_mode)

    def _bare_folders(self) -> frozenset[str]:
        names = self.git.names("--others", "--directory", "--exclude-standard")
        return frozenset(self._path(name) for name in names if name.endswith("/"))

    def _ignored(self) -> frozenset[str]:
        """Return what git ignores, to be named where it changes; nothing if there is no time."""
        listed = ("--others", "--ignored", "--directory", "--exclude-standard")
        try:
            names = self.git.names(*listed, *self._excluded_by_repository())
        except (GitError, LateError):
            return frozenset()
        own = str(self.own_folder)
        paths = (self._path(name) for name in names[:MOST_IGNORED])
        return frozenset(path for path in paths if not f"{own}/".startswith(f"{path}/"))

    def _status(self, name: str) -> os.stat_result | None:
        """Return what the system says of a file; None if none is there, or only behind a link."""
        folder = name.rstrip("/").rpartition("/")[0]
        if not self._is_plain(folder):
            return None
        try:
            status = os.lstat(self._path(name))
        except OSError:
            return None
        return None if stat.S_ISDIR(status.st_mode) and not name.endswith("/") else status

    def _is_plain(self, folder: str) -> bool:
        """Whether no part of a folder's name, from the tree's top on, is a link."""
        if not folder:
            return True
        if folder not in self._plain_folders:
            above = folder.rpartition("/")[0]
            is_here = self._is_plain(above) and _is_folder(self._path(folder))
            self._plain_folders[folder] = is_here
        return self._plain_folders[folder]

    def _path(self, name: str) -> str:
        return f"{str(self.git.tree).rstrip('/')}/{name.rstrip('/')}"


def look_at(path: str) -> tuple[Marks, float] | None:
    """Return a file's marks, and when it was last changed, made or moved; None if there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return marks_of(status), status.st_ctime


def marks_of(status: os.stat_result) -> Marks:
    """Return what tells whether a file has changed; of a folder nothing is known."""
    if stat.S_ISDIR(status.st_mode):
        return ()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


@frozen
class _Repository:
    """The user's own repository: its folder, and the one that it shares with its worktrees."""

    folder: Path
    shared: Path


def tree_of(root: Path) -> Path:
    """Return the folder whose ignore files count for a root: where its repository begins."""
    return next((each for each in (root, *root.parents) if _is_repository(each / ".git")), root)


def _is_repository(path: Path) -> bool:
    """Whether git would take it for one: an empty folder of that name is none."""
    return path.is_file() or (path / "HEAD").exists()


def _repository_of(tree: Path) -> _Repository | None:
    """Return the repository of a working tree, from its names alone; None if there is none."""
    folder = tree / ".git"
    try:
        if folder.is_file():
            pointer = folder.read_text().strip()
            folder = (tree / pointer.removeprefix("gitdir:").strip()).resolve()
        shared = folder / "commondir"
        common = folder / shared.read_text().strip() if shared.is_file() else folder
    except (OSError, UnicodeDecodeError):
        return None
    return _Repository(folder, common) if folder.is_dir() else None


def _is_folder(path: str) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False
