"""File changes made by a run, as statistics and as a git patch. Blocking.

Snapshots of the workspace are taken before and after the run, in a temporary directory. The
user's repository, its index, hooks and filters are not involved.
"""

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from acp_server.checkpoints.config import CheckpointRules
from acp_server.checkpoints.errors import KeepingError
from acp_server.checkpoints.git import Git, find_git
from acp_server.checkpoints.manifests import Manifest, changes_between, lost_between
from acp_server.checkpoints.records import Change, State
from acp_server.checkpoints.root_snapshot import look_at, tree_of
from acp_server.checkpoints.store import CheckpointStore
from acp_server.checkpoints.workspace_snapshots import WorkspaceLook

LOOK_SECONDS = 60.0
HURRY_SECONDS = 4.0
"""Snapshot time limit after an interrupt: the caller is waiting for the process to exit."""
_OWNER_RUNS = 0o100
_PLAIN_DIFF = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")

Status = Literal["added", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file that the run has added, modified or deleted."""

    path: str
    """Relative to the root of the repository, else to the workspace."""
    status: Status
    added: int | None = None
    """Number of lines; None for binary files and files that are not in the snapshot."""
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """All file changes of a run."""

    files: tuple[ChangedFile, ...] = ()
    patch: bytes = b""
    """Apply with `git apply` at the root of the repository."""
    unknown: tuple[str, ...] = ()
    """Messages about parts of the workspace that could not be compared."""


@dataclass(slots=True)
class ChangeWatch(AbstractContextManager["ChangeWatch"]):
    """Compares a workspace with its state at the start of the run."""

    folder: Path
    own_folder: Path
    """HERMES_HOME, which is excluded from the comparison."""
    variables: Mapping[str, str]
    _place: tempfile.TemporaryDirectory[str] = field(init=False)
    _look: WorkspaceLook = field(init=False)
    _before: Manifest | None = field(default=None, init=False)
    _fault: str = field(default="", init=False)

    def __enter__(self) -> Self:
        """Create the temporary snapshot store."""
        self._place = tempfile.TemporaryDirectory(prefix="acp-run-", ignore_cleanup_errors=True)
        place = Path(self._place.name).resolve()
        store = CheckpointStore(place / "store", CheckpointRules(snapshot_seconds=LOOK_SECONDS))
        self._look = WorkspaceLook(store, (self.folder,), self.own_folder, self.variables)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove the temporary snapshot store."""
        self._place.cleanup()

    def begin(self) -> None:
        """Take the first snapshot; call it before the run changes any file."""
        try:
            self._look.store.make(self.folder)
            self._before = self._look.take()
        except (KeepingError, OSError) as error:
            self._fault = f"the changes of this run are unknown: {error}"

    def changes(self, is_hurried: bool = False) -> Changes:  # noqa: FBT001, FBT002  for a thread
        """Return the changes since the first snapshot; `unknown` names what was not compared."""
        if self._before is None:
            return Changes(unknown=(self._fault,) if self._fault else ())
        if is_hurried:
            self._look.store.rules = replace(self._look.store.rules, snapshot_seconds=HURRY_SECONDS)
        try:
            return self._compared(self._before, self._look.take())
        except (KeepingError, OSError) as error:
            return Changes(unknown=(f"the changes of this run are unknown: {error}",))

    def _compared(self, before: Manifest, after: Manifest) -> Changes:
        top = tree_of(self.folder)
        own = f"{Path(self._place.name).resolve()}/"
        changes = [
            change
            for change in changes_between(before, after, look_at)
            if not change.path.startswith(own)
        ]
        trees = _Trees(self._git(top), top)
        files, patch = trees.compared(changes) if changes else ((), b"")
        lost = [
            ChangedFile(_name(path, top), "modified") for path, _ in lost_between(before, look_at)
        ]
        new = [
            ChangedFile(_name(path, top), "added")
            for path in after.unkept
            if path not in before.unkept and path not in before.states
        ]
        known = {each.path for each in files}
        more = [each for each in (*lost, *new) if each.path not in known]
        unknown = dict.fromkeys((*before.faults, *after.faults))
        return Changes((*files, *more), patch, tuple(unknown))

    def _git(self, top: Path) -> Git:
        store = self._look.store
        program = find_git(self.variables, [self.folder]) or "git"
        index = store.folder / "comparison"
        deadline = time.monotonic() + LOOK_SECONDS
        return Git(program, store.repository, index, top, top, self.variables, deadline)


@dataclass(frozen=True, slots=True)
class _Trees:
    """Writes both sides of changes as git trees and diffs them."""

    git: Git
    top: Path

    def compared(self, changes: Iterable[Change]) -> tuple[tuple[ChangedFile, ...], bytes]:
        changes = list(changes)
        old = self._tree((change.path, change.before) for change in changes)
        new = self._tree((change.path, change.after) for change in changes)
        counted = self.git.run("diff-tree", "-r", "-z", "--numstat", *_PLAIN_DIFF, old, new)
        patch = self.git.run(
            *("diff-tree", "-r", "-p", "--binary", "--full-index", *_PLAIN_DIFF),
            *("--src-prefix=a/", "--dst-prefix=b/", old, new),
        )
        statuses: dict[str, Status] = {
            _name(each.path, self.top): _status(each) for each in changes
        }
        return tuple(_counted(counted, statuses)), patch

    def _tree(self, states: Iterable[tuple[str, State | None]]) -> str:
        """Write a git tree with these files; return its object id."""
        self.git.index.unlink(missing_ok=True)
        entries = b"".join(
            os.fsencode(f"{_mode(state)} {state.blob}\t{_name(path, self.top)}") + b"\0"
            for path, state in states
            if state is not None
        )
        self.git.run("update-index", "--add", "-z", "--index-info", given=entries)
        return self.git.run("write-tree").decode().strip()


def _counted(output: bytes, statuses: Mapping[str, Status]) -> Iterator[ChangedFile]:
    for line in filter(None, output.split(b"\0")):
        added, removed, name = line.split(b"\t", 2)
        path = os.fsdecode(name)
        yield ChangedFile(path, statuses[path], _count(added), _count(removed))


def _count(figure: bytes) -> int | None:
    return int(figure) if figure.isdigit() else None


def _status(change: Change) -> Status:
    if change.before is None:
        return "added"
    return "deleted" if change.after is None else "modified"


def _mode(state: State) -> str:
    if state.kind == "link":
        return "120000"
    return "100755" if state.mode & _OWNER_RUNS else "100644"


def _name(path: str, top: Path) -> str:
    return Path(path).relative_to(top).as_posix()
