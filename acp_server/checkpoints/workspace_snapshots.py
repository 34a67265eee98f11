"""Snapshots of a whole workspace: all its roots, within one time limit. Blocks."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.checkpoints.errors import KeepingError
from acp_server.checkpoints.git import Git, GitError, LateError, find_git, own_excludes, split
from acp_server.checkpoints.manifests import Manifest, Unkept
from acp_server.checkpoints.records import State
from acp_server.checkpoints.root_snapshot import RootSnapshot, tree_of
from acp_server.checkpoints.store import CheckpointStore

MOST_LATES = 2
"""A root that times out this often is not searched again."""
NO_GIT = "git is not installed, so only changes by tools can be undone, not those by commands"


@dataclass(slots=True)
class WorkspaceLook:
    """Takes snapshots of one workspace."""

    store: CheckpointStore
    roots: tuple[Path, ...]
    """Absolute paths."""
    own_folder: Path
    variables: Mapping[str, str]
    _given_up: dict[Path, str] = field(default_factory=dict[Path, str], init=False)
    """Roots that are too large to be searched, with the reason."""
    _lates: dict[Path, int] = field(default_factory=dict[Path, int], init=False)
    _excludes: dict[str, str | None] = field(default_factory=dict[str, str | None], init=False)
    _used_bytes: int | None = field(default=None, init=False)

    @property
    def tops(self) -> tuple[str, ...]:
        """The roots, symlinks resolved, without those inside another root."""
        return tuple(map(str, distinct(self.roots)))

    def take(self) -> Manifest:
        """Store all files as they are now; the manifest lists those that could not be stored.

        Raises:
            KeepingError: nothing can be stored.
            OSError: nothing can be stored.
        """
        program = find_git(self.variables, self.roots)
        if program is None:
            raise KeepingError(NO_GIT)
        began_at, deadline = time.time(), time.monotonic() + self.store.rules.snapshot_seconds
        states: dict[str, State] = {}
        unkept: dict[str, Unkept] = {}
        folders: set[str] = set()
        faults: list[str] = []
        ignored: set[str] = set()
        # The lock covers all roots: another server must not prune objects that no record names yet.
        with self.store.alone(self.store.rules.snapshot_seconds):
            for root in distinct(self.roots):
                try:
                    found = self._looked(root, program, deadline)
                except KeepingError as error:
                    faults.append(f"{root}: {error.reason}")
                    unkept[str(root)] = Unkept(error.reason, ())
                    continue
                states.update(found.states)
                unkept.update(found.unkept)
                folders |= found.folders
                ignored |= found.ignored
        looked = frozenset(folders), tuple(faults), frozenset(ignored)
        return Manifest(began_at, states, unkept, *looked)

    def prune(self) -> int:
        """Delete records that are too old or take too much space; return how many.

        Raises:
            KeepingError: another process holds the lock, or git failed.
            OSError: something cannot be deleted.
        """
        program = find_git(self.variables, self.roots)
        with self.store.alone(0.0):
            names = list(self._indexed(program)) if program else []
            return self.store.prune(names)

    def _looked(self, root: Path, program: str, deadline: float) -> Manifest:
        if root in self._given_up:
            raise KeepingError(self._given_up[root])
        git = self._git(root, program, deadline)
        try:
            return self._mended(git)
        except LateError as error:  # once may be chance, or a wait for the lock
            self._lates[root] = self._lates.get(root, 0) + 1
            if self._lates[root] >= MOST_LATES:
                self._given_up[root] = error.reason
            raise
        except GitError:
            raise
        except KeepingError as error:
            self._given_up[root] = error.reason
            raise

    def _mended(self, git: Git) -> Manifest:
        """Take a snapshot; a broken index is built again, and stored content is not lost."""
        try:
            return self._taken(git)
        except GitError:
            if not git.index.exists():
                raise
            # Only a cache: the next snapshot reads all files again.
            git.index.unlink()
            return self._taken(git)

    def _taken(self, git: Git) -> Manifest:
        most = self.store.rules.max_total_bytes
        if self._used_bytes is None or self._used_bytes > most:
            self._used_bytes = self.store.size_bytes()
        room = max(0, most - self._used_bytes)
        snapshot = RootSnapshot(git, self.store.rules, self.own_folder.resolve() / "acp", room)
        manifest = snapshot.take()
        self._used_bytes += snapshot.taken_bytes  # uncompressed sizes: rather too much
        return manifest

    def _git(self, root: Path, program: str, deadline: float) -> Git:
        if program not in self._excludes:
            self._excludes[program] = own_excludes(program, self.variables, deadline)
        tree = tree_of(root)
        index, repository = self.store.index_of(root), self.store.repository
        excludes = self._excludes[program]
        return Git(program, repository, index, tree, root, self.variables, deadline, excludes)

    def _indexed(self, program: str) -> Iterator[str]:
        """Yield the objects that the indexes name.

        git does not read unchanged files again, so pruning must not delete their objects.
        """
        deadline = time.monotonic() + self.store.rules.snapshot_seconds
        for index in self.store.folder.glob("index-*"):
            if index.suffix == ".lock":
                continue
            folder, variables = self.store.repository, self.variables
            git = Git(program, folder, index, folder, folder, variables, deadline)
            for line in split(git.run("ls-files", "-z", "--stage")):
                yield line.split(" ", 2)[1]


def distinct(roots: tuple[Path, ...]) -> tuple[Path, ...]:
    """Return roots, symlinks resolved, without those inside another root."""
    real = tuple(dict.fromkeys(root.resolve() for root in roots))
    return tuple(
        root
        for root in real
        if not any(root != other and root.is_relative_to(other) for other in real)
    )
