"""Workspaces of attempts: git worktrees in private directories, and removal of those left by kills.

All directories of one process are below one directory, which a lock file marks as in use. The next
process sweeps those whose lock is free. The user's working tree and branches are not changed.
"""

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Semaphore
from typing import BinaryIO

from acp_server.fleet.git import FleetGit, FleetGitError
from acp_server.fleet.unit import Unit
from acp_server.headless.run.changes import OWNER_LOCK, RUN_PREFIX

PREFIX = "acp-tasks-"
RECORD_NAME = "repository"
"""File in an attempt's directory with the path of the git directory that has the worktree."""
MAX_REMOVALS = 4
"""Directories of attempts that may wait for their removal."""
REGISTRATIONS = "worktrees"
"""Directory of a git directory with one directory for each of its worktrees."""
_SPECIAL = ("reftable", "config.worktree", "info/sparse-checkout")
"""Entries of git directories whose worktrees only git itself can register."""


@dataclass(frozen=True, slots=True)
class _CommitPlace:
    """Commit of a repository, and how worktrees of it are made."""

    commit: str
    common: Path
    """Git directory that has the repository's worktrees."""
    is_plain: bool
    """Whether a worktree needs nothing but its registration and the files of its commit."""


class WorkspaceFactory:
    """Creates the workspaces of this process. Blocking; thread-safe."""

    def __init__(self, git: FleetGit) -> None:
        self._git = git
        self._places: dict[tuple[Path, str], _CommitPlace] = {}
        self._root: Path | None = None
        self._lock_file: BinaryIO | None = None
        # Git locks the repository's list of worktrees, and fails at once if it is locked.
        self._lock = Lock()
        # The next attempt need not wait until the files of the last one are gone.
        self._remover = ThreadPoolExecutor(1, "acp-fleet-remover")
        self._removals = Semaphore(MAX_REMOVALS)

    @contextmanager
    def create(
        self, handle: str, unit: Unit, repository: Path, changes: bytes
    ) -> Generator["AttemptWorkspace"]:
        """Create a worktree of the unit's commit, with uncommitted changes; remove it at the end.

        Raises:
            FleetGitError: The worktree cannot be created.
            OSError: A directory cannot be created.
        """
        with self._lock:
            directory = self._make_root() / handle
            directory.mkdir(mode=0o700)
        # Named like the unit, because the model sees the path.
        tree = directory / unit.id
        try:
            place = self._find_place(repository, unit.workspace.commit)
            # Before the worktree is registered, so that a sweep finds it whenever we are killed.
            (directory / RECORD_NAME).write_text(str(place.common), encoding="utf-8")
            if place.is_plain:
                with self._lock:
                    _register(tree, place)
                self._git.run(tree, "read-tree", "--reset", "-u", place.commit)
            else:
                add = ("worktree", "add", "--detach", "--quiet", str(tree), place.commit)
                with self._lock:
                    self._git.run(repository, *add)
            if changes:
                apply = ("apply", "--binary", "--whitespace=nowarn", "-")
                self._git.read(tree, apply, stdin=changes)
            working_directory = tree / unit.workspace.folder
            if not working_directory.is_dir():
                reason = f"the commit has no directory {unit.workspace.folder!r}"
                raise FleetGitError(reason)
            yield AttemptWorkspace(directory, tree, working_directory)
        finally:
            self._begin_removal(directory)

    def close(self) -> None:
        """Remove the directory of this process."""
        self._remover.shutdown()
        with self._lock:
            if self._root is not None:
                for each in _entries(self._root):  # an attempt may be ending still
                    _unregister(each)
                shutil.rmtree(self._root, ignore_errors=True)
            self.release_lock()
            self._root = None

    def release_lock(self) -> None:
        """Release the lock of the directory, as the end of the process does."""
        if self._lock_file is not None:
            self._lock_file.close()
        self._lock_file = None

    def _begin_removal(self, directory: Path) -> None:
        # A disk that is slower than the agents must not fill up.
        if self._removals.acquire(blocking=False):
            try:
                self._remover.submit(self._remove_later, directory)
                return
            except RuntimeError:  # closed
                self._removals.release()
        self._remove(directory)

    def _remove_later(self, directory: Path) -> None:
        try:
            self._remove(directory)
        finally:
            self._removals.release()

    def _remove(self, directory: Path) -> None:
        with self._lock:
            _unregister(directory)
        _remove_directory(directory)

    def _find_place(self, repository: Path, commit: str) -> _CommitPlace:
        """Return the place of a commit; git is asked once."""
        if (repository, commit) not in self._places:
            asked = ("rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir")
            names = self._git.run(repository, *asked, f"{commit}^{{commit}}").splitlines()
            common, own, commit_name = names[0], names[1], names[2]
            is_special = any(Path(common, each).exists() for each in _SPECIAL)
            place = _CommitPlace(commit_name, Path(common), own == common and not is_special)
            self._places[repository, commit] = place
        return self._places[repository, commit]

    def _make_root(self) -> Path:
        while self._root is None:
            root = Path(tempfile.mkdtemp(prefix=PREFIX)).resolve()
            lock = (root / OWNER_LOCK).open("wb")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:  # a sweep was faster, and removes it
                lock.close()
            else:
                self._root, self._lock_file = root, lock
        return self._root


class AttemptWorkspace:
    """Directories of one attempt."""

    def __init__(self, directory: Path, tree: Path, working_directory: Path) -> None:
        self.directory = directory
        """Private directory of the attempt."""
        self.tree = tree
        """Root of the worktree."""
        self.working_directory = working_directory
        """Directory that the agent works in."""


def _register(tree: Path, place: _CommitPlace) -> None:
    """Register a worktree, as gitrepository-layout(5) describes it, without its files.

    `git worktree add` takes three processes, and can be killed before its registration says whose
    it is. Ours has the name of the attempt.
    """
    registration = place.common / REGISTRATIONS / registration_name(tree.parent)
    tree.mkdir()
    (tree / ".git").write_text(f"gitdir: {registration}\n", encoding="utf-8")
    registration.mkdir(parents=True)
    (registration / "gitdir").write_text(f"{tree / '.git'}\n", encoding="utf-8")
    (registration / "commondir").write_text("../..\n", encoding="utf-8")
    (registration / "HEAD").write_text(f"{place.commit}\n", encoding="utf-8")


def registration_name(directory: Path) -> str:
    """Return the name of git's directory for the worktree in an attempt's directory."""
    return f"acp-{directory.name}"


def sweep_dead_workspaces() -> int:
    """Remove the workspaces of processes that were killed; return how many there were."""
    found = 0
    directory = Path(tempfile.gettempdir())
    for root in (*directory.glob(f"{PREFIX}*"), *directory.glob(f"{RUN_PREFIX}*")):
        with suppress(OSError):
            status = root.lstat()
            # Only our own: anybody may create directories in the directory of temporary files.
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            with (root / OWNER_LOCK).open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                for each in root.iterdir():
                    if each.is_dir():
                        found += 1
                        # Git's record first: if we are killed in between, ours still leads to it.
                        _unregister(each)
                        _remove_directory(each)
                # A process that is being ended may write still: then the next sweep finds the lock.
                if not any(each.is_dir() for each in root.iterdir()):
                    shutil.rmtree(root, ignore_errors=True)
    return found


def _unregister(directory: Path) -> None:
    """Remove git's record of the worktree in an attempt's directory."""
    for each in _registrations(directory):
        shutil.rmtree(each, ignore_errors=True)
        with suppress(OSError):
            each.parent.rmdir()  # git has it only while there are worktrees


def _remove_directory(directory: Path) -> None:
    """Remove an attempt's directory, the record that a sweep needs last."""
    trees = [each for each in _entries(directory) if each.name != RECORD_NAME]
    for each in trees:
        shutil.rmtree(each, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)


def _entries(directory: Path) -> list[Path]:
    try:
        return [*directory.iterdir()]
    except OSError:
        return []


def _registrations(directory: Path) -> list[Path]:
    """Return git's own directories for the worktrees in a directory."""
    found: list[Path] = []
    with suppress(OSError, UnicodeDecodeError):
        common = Path((directory / RECORD_NAME).read_text(encoding="utf-8"))
        for path in (common / REGISTRATIONS).iterdir():
            # Whatever the record says, only a directory that leads back to ours is removed, or one
            # with our name.
            if path.name == registration_name(directory):
                found.append(path)
                continue
            with suppress(OSError, UnicodeDecodeError):
                link = Path((path / "gitdir").read_text(encoding="utf-8").strip())
                if link.parent.parent == directory:
                    found.append(path)
    return found
