"""What a run has made of the files of its workspace, as git would tell it. It blocks.

All files are looked at before and after, and kept outside the repository for as long as the run
lasts: the repository itself, its index, its hooks and filters have no part in it.
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

from acp_server.checkpoints.errors import KeepingError
from acp_server.checkpoints.git import Git, find_git
from acp_server.checkpoints.looking import WorkspaceLook
from acp_server.checkpoints.manifests import Manifest, changes_between, lost_between
from acp_server.checkpoints.records import Change, State
from acp_server.checkpoints.rules import CheckpointRules
from acp_server.checkpoints.snapshots import look_at, tree_of
from acp_server.checkpoints.store import CheckpointStore

LOOK_SECONDS = 60.0
HURRY_SECONDS = 4.0
"""When the run was ended from outside: whoever did it waits, but not for long."""
_OWNER_RUNS = 0o100
_PLAIN_DIFF = ("--no-renames", "--no-ext-diff", "--no-textconv", "--no-color")

Status = Literal["added", "modified", "deleted"]


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """One file that is not what it was."""

    path: str
    """From the top of the repository, or of the workspace where there is none."""
    status: Status
    added: int | None = None
    """Lines; None where they cannot be counted: of bytes, or of what was not kept."""
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class Changes:
    """All that a run has changed."""

    files: tuple[ChangedFile, ...] = ()
    patch: bytes = b""
    """Applies with `git apply` at the top of the repository."""
    unknown: tuple[str, ...] = ()
    """What could not be looked through, in a sentence each."""


@dataclass(slots=True)
class ChangeWatch(AbstractContextManager["ChangeWatch"]):
    """Compares a workspace with what it was when the run began."""

    folder: Path
    own_folder: Path
    """Where this program keeps its own things: no part of the workspace."""
    variables: Mapping[str, str]
    _place: tempfile.TemporaryDirectory[str] = field(init=False)
    _look: WorkspaceLook = field(init=False)
    _before: Manifest | None = field(default=None, init=False)
    _fault: str = field(default="", init=False)

    def __enter__(self) -> Self:
        """Make a place for what is kept."""
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
        """Remove all that was kept."""
        self._place.cleanup()

    def begin(self) -> None:
        """Look at all files, before the run touches any."""
        try:
            self._look.store.make(self.folder)
            self._before = self._look.take()
        except (KeepingError, OSError) as error:
            self._fault = f"the changes of this run are not known: {error}"

    def changes(self, is_hurried: bool = False) -> Changes:  # noqa: FBT001, FBT002  for a thread
        """Return what has changed since; what cannot be told, or not in time, is named."""
        if self._before is None:
            return Changes(unknown=(self._fault,) if self._fault else ())
        if is_hurried:
            self._look.store.rules = replace(self._look.store.rules, snapshot_seconds=HURRY_SECONDS)
        try:
            return self._compared(self._before, self._look.take())
        except (KeepingError, OSError) as error:
            return Changes(unknown=(f"the changes of this run are not known: {error}",))

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
    """Both sides of changes as trees of git, and what lies between them."""

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
        """Return the name of a tree that holds these files."""
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
