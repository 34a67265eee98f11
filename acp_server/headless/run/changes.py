"""File changes made by a run, as statistics and as a git patch. Blocking.

Snapshots of the workspace are taken before and after the run, in a temporary directory. The
user's repository, its index, hooks and filters are not involved.
"""

import fcntl
import os
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import BinaryIO, Literal, Self

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.checkpoints.errors import CheckpointStoreError
from acp_server.checkpoints.git import SnapshotGit, find_git
from acp_server.checkpoints.manifests import Manifest, find_changes, find_lost_changes
from acp_server.checkpoints.records import FileVersion, RecordedChange
from acp_server.checkpoints.root_snapshot import probe, tree_of, user_repository
from acp_server.checkpoints.store import CheckpointStore
from acp_server.checkpoints.workspace_snapshots import WorkspaceSnapshots

RUN_PREFIX = "acp-run-"
OWNER_LOCK = "owner.lock"
SNAPSHOT_SECONDS = 60.0
INTERRUPTED_SNAPSHOT_SECONDS = 4.0
"""Snapshot time limit after an interrupt: the caller is waiting for the process to exit."""
_OWNER_EXECUTABLE = 0o100
_PLAIN_DIFF = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")

FileStatus = Literal["added", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file that the run has added, modified or deleted."""

    path: str
    """Relative to the root of the repository, else to the workspace."""
    status: FileStatus
    added: int | None = None
    """Number of lines; None for binary files and files that are not in the snapshot."""
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class WorkspaceChanges:
    """All file changes of a run."""

    files: tuple[ChangedFile, ...] = ()
    patch: bytes = b""
    """Apply with `git apply` at the root of the repository."""
    unknown: tuple[str, ...] = ()
    """Messages about parts of the workspace that could not be compared."""


@dataclass(slots=True)
class ChangeTracker(AbstractContextManager["ChangeTracker"]):
    """Compares a workspace with its state at the start of the run."""

    workspace: Path
    hermes_home: Path
    """HERMES_HOME, which is excluded from the comparison."""
    environment: Mapping[str, str]
    _temporary: tempfile.TemporaryDirectory[str] = field(init=False)
    _owner_lock: BinaryIO = field(init=False)
    _snapshots: WorkspaceSnapshots = field(init=False)
    _before: Manifest | None = field(default=None, init=False)
    _error: str = field(default="", init=False)

    def __enter__(self) -> Self:
        """Create the temporary snapshot store."""
        # A fleet removes the directories of runs that were killed, whose lock is free. Between the
        # creation of the file and its lock, it takes ours for one of them.
        while True:
            self._temporary = tempfile.TemporaryDirectory(
                prefix=RUN_PREFIX, ignore_cleanup_errors=True
            )
            directory = Path(self._temporary.name).resolve()
            self._owner_lock = (directory / OWNER_LOCK).open("wb")
            try:
                fcntl.flock(self._owner_lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                self._owner_lock.close()
                self._temporary.cleanup()
        store = CheckpointStore(
            directory / "store", CheckpointConfig(snapshot_seconds=SNAPSHOT_SECONDS)
        )
        self._snapshots = WorkspaceSnapshots(
            store, (self.workspace,), self.hermes_home, self.environment
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary snapshot store."""
        self._temporary.cleanup()
        self._owner_lock.close()

    def take_first_snapshot(self) -> None:
        """Take the first snapshot; call it before the run changes any file."""
        try:
            self._snapshots.store.create(self.workspace)
            self._before = self._snapshots.take()
        except (CheckpointStoreError, OSError) as error:
            self._error = f"the changes of this run are unknown: {error}"

    def compute_changes(self, is_interrupted: bool = False) -> WorkspaceChanges:  # noqa: FBT001, FBT002  for a thread
        """Return the changes since the first snapshot; `unknown` names what was not compared."""
        if self._before is None:
            return WorkspaceChanges(unknown=(self._error,) if self._error else ())
        if is_interrupted:
            self._snapshots.store.config = replace(
                self._snapshots.store.config, snapshot_seconds=INTERRUPTED_SNAPSHOT_SECONDS
            )
        try:
            return self._compare(self._before, self._snapshots.take())
        except (CheckpointStoreError, OSError) as error:
            return WorkspaceChanges(unknown=(f"the changes of this run are unknown: {error}",))

    def _compare(self, before: Manifest, after: Manifest) -> WorkspaceChanges:
        top = tree_of(self.workspace)
        store_prefix = f"{Path(self._temporary.name).resolve()}/"
        changes = [
            change
            for change in find_changes(before, after, probe)
            if not change.path.startswith(store_prefix)
        ]
        files, patch = self._diff(changes, top) if changes else ((), b"")
        not_stored = [
            ChangedFile(_relative_name(path, top), "modified")
            for path, _ in find_lost_changes(before, probe)
        ]
        new = [
            ChangedFile(_relative_name(path, top), "added")
            for path in after.omitted
            if path not in before.omitted and path not in before.states
        ]
        known = {each.path for each in files}
        more = [each for each in (*not_stored, *new) if each.path not in known]
        unknown = dict.fromkeys((*before.failures, *after.failures))
        return WorkspaceChanges((*files, *more), patch, tuple(unknown))

    def _diff(
        self, changes: Sequence[RecordedChange], top: Path
    ) -> tuple[Sequence[ChangedFile], bytes]:
        """Write both sides of the changes as git trees and diff them."""
        store = self._snapshots.store
        program = find_git(self.environment, [self.workspace]) or "git"
        index = store.directory / "comparison"
        deadline = time.monotonic() + SNAPSHOT_SECONDS
        git = SnapshotGit(program, store.repository, index, top, top, self.environment, deadline)
        old = _write_tree(git, top, ((change.path, change.before) for change in changes))
        new = _write_tree(git, top, ((change.path, change.after) for change in changes))
        # The first snapshot may begin with the user's own index: the contents are there then.
        user = user_repository(top)
        read = git.run if user is None else partial(git.run_with_objects, user.objects)
        counted = read("diff-tree", "-r", "-z", "--numstat", *_PLAIN_DIFF, old, new)
        patch = read(
            *("diff-tree", "-r", "-p", "--binary", "--full-index", *_PLAIN_DIFF),
            *("--src-prefix=a/", "--dst-prefix=b/", old, new),
        )
        statuses: dict[str, FileStatus] = {
            _relative_name(each.path, top): _status(each) for each in changes
        }
        files: list[ChangedFile] = []
        for line in filter(None, counted.split(b"\0")):
            added, removed, name = line.split(b"\t", 2)
            path = os.fsdecode(name)
            files.append(ChangedFile(path, statuses[path], _count(added), _count(removed)))
        return files, patch


def _write_tree(
    git: SnapshotGit, top: Path, states: Iterable[tuple[str, FileVersion | None]]
) -> str:
    """Write a git tree with these files; return its object id."""
    git.index.unlink(missing_ok=True)
    entries = b"".join(
        os.fsencode(f"{_mode(state)} {state.blob}\t{_relative_name(path, top)}") + b"\0"
        for path, state in states
        if state is not None
    )
    git.run("update-index", "--add", "-z", "--index-info", stdin=entries)
    return git.run("write-tree", "--missing-ok").decode().strip()


def _count(digits: bytes) -> int | None:
    return int(digits) if digits.isdigit() else None


def _status(change: RecordedChange) -> FileStatus:
    if change.before is None:
        return "added"
    return "deleted" if change.after is None else "modified"


def _mode(state: FileVersion) -> str:
    if state.kind == "link":
        return "120000"
    return "100755" if state.mode & _OWNER_EXECUTABLE else "100644"


def _relative_name(path: str, top: Path) -> str:
    return Path(path).relative_to(top).as_posix()
