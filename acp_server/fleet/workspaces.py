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
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
from typing import BinaryIO

from acp_server.fleet.git import FleetGit, FleetGitError
from acp_server.fleet.unit import Unit
from acp_server.headless.run.changes import OWNER_LOCK, RUN_PREFIX

PREFIX = "acp-tasks-"
RECORD_NAME = "repository"
"""File in an attempt's directory with the path of the git directory that has the worktree."""
_ADMINISTRATIONS = "worktrees"


class WorkspaceFactory:
    """Creates the workspaces of this process. Blocking; thread-safe."""

    def __init__(self, git: FleetGit) -> None:
        self._git = git
        self._common: dict[Path, str] = {}
        self._root: Path | None = None
        self._lock_file: BinaryIO | None = None
        # Git locks the repository's list of worktrees, and fails at once if it is locked.
        self._lock = Lock()

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
            common = self._common_directory(repository)
            # Before git registers the worktree, so that a sweep finds it whenever we are killed.
            (directory / RECORD_NAME).write_text(common, encoding="utf-8")
            add = (
                "worktree",
                "add",
                "--detach",
                "--quiet",
                str(tree),
                unit.workspace.commit,
            )
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
            with self._lock:
                _remove_attempt(directory)

    def close(self) -> None:
        """Remove the directory of this process."""
        with self._lock:
            if self._root is not None:
                shutil.rmtree(self._root, ignore_errors=True)
            self.release_lock()
            self._root = None

    def release_lock(self) -> None:
        """Release the lock of the directory, as the end of the process does."""
        if self._lock_file is not None:
            self._lock_file.close()
        self._lock_file = None

    def _common_directory(self, repository: Path) -> str:
        """Return the git directory that has a repository's worktrees; git is asked once."""
        if repository not in self._common:
            asked = ("rev-parse", "--path-format=absolute", "--git-common-dir")
            self._common[repository] = self._git.run(repository, *asked)
        return self._common[repository]

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
                        _remove_attempt(each)
                # A process that is being ended may write still: then the next sweep finds the lock.
                if not any(each.is_dir() for each in root.iterdir()):
                    shutil.rmtree(root, ignore_errors=True)
    return found


def _remove_attempt(directory: Path) -> None:
    """Remove an attempt's directory, and git's record of its worktree."""
    # Git's record first: if we are killed in between, the next sweep still finds our own record.
    for each in _administrations(directory):
        shutil.rmtree(each, ignore_errors=True)
        with suppress(OSError):
            each.parent.rmdir()  # git has it only while there are worktrees
    trees = [each for each in _entries(directory) if each.name != RECORD_NAME]
    for each in trees:
        shutil.rmtree(each, ignore_errors=True)
    shutil.rmtree(directory, ignore_errors=True)


def _entries(directory: Path) -> list[Path]:
    try:
        return [*directory.iterdir()]
    except OSError:
        return []


def _administrations(directory: Path) -> list[Path]:
    """Return git's own directories for the worktrees in a directory."""
    found: list[Path] = []
    with suppress(OSError, UnicodeDecodeError):
        common = Path((directory / RECORD_NAME).read_text(encoding="utf-8"))
        for path in (common / "worktrees").iterdir():
            # Whatever the record says, only a directory that leads back to ours is removed.
            with suppress(OSError, UnicodeDecodeError):
                link = Path((path / "gitdir").read_text(encoding="utf-8").strip())
                if link.parent.parent == directory:
                    found.append(path)
    return found
