"""Snapshots of a whole workspace: all its roots, within one time limit. Blocks."""

import os
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.checkpoints.errors import CheckpointStoreError
from acp_server.checkpoints.git import (
    GitError,
    SnapshotGit,
    SnapshotTimeoutError,
    find_git,
    global_excludes_file,
    split_nul,
)
from acp_server.checkpoints.manifests import Manifest, OmittedFile
from acp_server.checkpoints.records import FileVersion
from acp_server.checkpoints.root_snapshot import RootSnapshot, tree_of, user_repository
from acp_server.checkpoints.seeded_index import read_objects
from acp_server.checkpoints.store import CheckpointStore

BACKGROUND_SECONDS = 600.0
"""How long files are stored in the background, per root."""
PAUSE_SECONDS = 0.05
"""Between two steps in the background: whoever waits for the lock looks every hundredth second."""
MAX_BUSY_FACTOR = 4.0
STOPPED = "the server is ending"
MAX_TIMEOUTS = 2
"""A root that times out this often is not searched again."""
NO_GIT = "git is not installed, so only changes by tools can be undone, not those by commands"


@dataclass(slots=True)
class WorkspaceSnapshots:
    """Takes snapshots of one workspace."""

    store: CheckpointStore
    roots: tuple[Path, ...]
    """Absolute paths."""
    config_home: Path
    variables: Mapping[str, str]
    _given_up: dict[Path, str] = field(default_factory=dict[Path, str], init=False)
    """Roots that are too large to be searched, with the reason."""
    _timeouts: dict[Path, int] = field(default_factory=dict[Path, int], init=False)
    _excludes: dict[str, str | None] = field(default_factory=dict[str, str | None], init=False)
    _used_bytes: int | None = field(default=None, init=False)

    @property
    def tops(self) -> tuple[str, ...]:
        """The roots, symlinks resolved, without those inside another root."""
        return tuple(map(str, distinct_roots(self.roots)))

    @property
    def time_limit_seconds(self) -> float:
        """How long a turn may wait: longer while other programs make everything take longer."""
        return self.store.config.snapshot_seconds * busy_factor()

    def take(self) -> Manifest:
        """Store all files as they are now; the manifest lists those that could not be stored.

        Raises:
            CheckpointStoreError: nothing can be stored.
            OSError: nothing can be stored.
        """
        program = find_git(self.variables, self.roots)
        if program is None:
            raise CheckpointStoreError(NO_GIT)
        began_at, seconds = time.time(), self.time_limit_seconds
        deadline = time.monotonic() + seconds
        states: dict[str, FileVersion] = {}
        omitted: dict[str, OmittedFile] = {}
        folders: set[str] = set()
        failures: list[str] = []
        ignored: set[str] = set()
        # The lock covers all roots: another server must not prune objects that no record names yet.
        with self.store.hold_lock(seconds):
            for root in distinct_roots(self.roots):
                try:
                    found = self._snapshot_root(root, program, deadline)
                except CheckpointStoreError as error:
                    failures.append(f"{root}: {error.reason}")
                    omitted[str(root)] = OmittedFile(error.reason, ())
                    continue
                states.update(found.states)
                omitted.update(found.omitted)
                folders |= found.folders
                ignored |= found.ignored
        details = frozenset(folders), tuple(failures), frozenset(ignored)
        return Manifest(began_at, states, omitted, *details)

    def store_all(self, is_stopped: Callable[[], bool]) -> None:
        """Store all files, so that the next snapshot finds them; ends early once it is stopped.

        Raises:
            CheckpointStoreError: something cannot be stored.
            OSError: something cannot be stored.
        """
        program = find_git(self.variables, self.roots)
        deadline = time.monotonic() + BACKGROUND_SECONDS

        @contextmanager
        def hold_lock() -> Generator[None]:
            if is_stopped():
                raise SnapshotTimeoutError(STOPPED)
            time.sleep(PAUSE_SECONDS)
            with self.store.hold_lock(BACKGROUND_SECONDS):
                yield

        for root in distinct_roots(self.roots) if program else ():
            self._snapshot(self._git(root, program or "", deadline)).store_all(hold_lock)
            # From now on it can be searched in time, perhaps.
            self._given_up.pop(root, None)
            self._timeouts.pop(root, None)

    def adopt(self, names: Iterable[str]) -> None:
        """Copy contents that only the user's repositories have to our store, as far as possible.

        Raises:
            CheckpointStoreError: they cannot be read.
            OSError: they cannot be stored.
        """
        missing = [name for name in dict.fromkeys(names) if not self.store.objects.has(name)]
        program = find_git(self.variables, self.roots)
        deadline = time.monotonic() + self.time_limit_seconds
        for root in distinct_roots(self.roots) if missing and program else ():
            git = self._git(root, program or "", deadline)
            if (user := user_repository(git.tree)) is not None:
                for data in read_objects(git, user, missing).values():
                    self.store.objects.write(data)

    def prune(self) -> int:
        """Delete records that are too old or take too much space; return how many.

        Raises:
            CheckpointStoreError: another process holds the lock, or git failed.
            OSError: something cannot be deleted.
        """
        program = find_git(self.variables, self.roots)
        with self.store.hold_lock(0.0):
            names = list(self._indexed_objects(program)) if program else []
            return self.store.prune(names)

    def _snapshot_root(self, root: Path, program: str, deadline: float) -> Manifest:
        if root in self._given_up:
            raise CheckpointStoreError(self._given_up[root])
        git = self._git(root, program, deadline)
        try:
            return self._take_with_repair(git)
        except SnapshotTimeoutError as error:  # once may be chance, or a wait for the lock
            self._timeouts[root] = self._timeouts.get(root, 0) + 1
            if self._timeouts[root] >= MAX_TIMEOUTS:
                self._given_up[root] = error.reason
            raise
        except GitError:
            raise
        except CheckpointStoreError as error:
            self._given_up[root] = error.reason
            raise

    def _take_with_repair(self, git: SnapshotGit) -> Manifest:
        """Take a snapshot; a broken index is built again, and stored content is not lost."""
        try:
            return self._take_root(git)
        except GitError:
            if not git.index.exists():
                raise
            # Only a cache: the next snapshot reads all files again.
            git.index.unlink()
            return self._take_root(git)

    def _take_root(self, git: SnapshotGit) -> Manifest:
        snapshot = self._snapshot(git)
        manifest = snapshot.take()
        # Uncompressed sizes: rather too much.
        self._used_bytes = (self._used_bytes or 0) + snapshot.stored_bytes
        return manifest

    def _snapshot(self, git: SnapshotGit) -> RootSnapshot:
        max_bytes = self.store.config.max_total_bytes
        if self._used_bytes is None or self._used_bytes > max_bytes:
            self._used_bytes = self.store.size_bytes()
        free_bytes = max(0, max_bytes - self._used_bytes)
        own_directory = self.config_home.resolve() / "acp"
        return RootSnapshot(git, self.store.config, own_directory, free_bytes)

    def _git(self, root: Path, program: str, deadline: float) -> SnapshotGit:
        if program not in self._excludes:
            self._excludes[program] = global_excludes_file(program, self.variables, deadline)
        tree = tree_of(root)
        index, repository = self.store.index_path(root), self.store.repository
        excludes = self._excludes[program]
        return SnapshotGit(
            program, repository, index, tree, root, self.variables, deadline, excludes
        )

    def _indexed_objects(self, program: str) -> Iterator[str]:
        """Yield the objects that the indexes name.

        git does not read unchanged files again, so pruning must not delete their objects.
        """
        deadline = time.monotonic() + self.store.config.snapshot_seconds
        for index in self.store.directory.glob("index-*"):
            if index.suffix == ".lock":
                continue
            folder, variables = self.store.repository, self.variables
            git = SnapshotGit(program, folder, index, folder, folder, variables, deadline)
            for line in split_nul(git.run("ls-files", "-z", "--stage")):
                yield line.split(" ", 2)[1]


def busy_factor() -> float:
    """Return how many times longer work takes because processors are shared, 1 to 4."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    return min(MAX_BUSY_FACTOR, max(1.0, load / (os.cpu_count() or 1)))


def distinct_roots(roots: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return roots, symlinks resolved, without those inside another root."""
    real = tuple(dict.fromkeys(root.resolve() for root in roots))
    return tuple(
        root
        for root in real
        if not any(root != other and root.is_relative_to(other) for other in real)
    )
