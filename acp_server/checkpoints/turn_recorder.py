"""Recorder of one running turn: stores file states before they change. Blocks.

A record is on disk before the change that it describes. A process that ends in between leaves an
open record; the changes of its turn are then found by comparing files.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from threading import Lock

from acp_server.checkpoints.errors import CheckpointStoreError
from acp_server.checkpoints.files import FileImage, read_file_image
from acp_server.checkpoints.git import TIMED_OUT
from acp_server.checkpoints.manifests import (
    CLOCK_SLACK_SECONDS,
    Manifest,
    find_changes,
    parent_directories,
)
from acp_server.checkpoints.records import (
    FileVersion,
    RecordedChange,
    RecordedEdit,
    TurnRecord,
)
from acp_server.checkpoints.root_snapshot import probe
from acp_server.checkpoints.store import CheckpointStore
from acp_server.checkpoints.turn_changes import mark_uncertain, resolve_changes
from acp_server.checkpoints.workspace_snapshots import WorkspaceSnapshots
from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_COMPARED_FILES = 10_000
"""In a workspace with more files, the changes of single commands are not worked out."""


@frozen_dataclass
class TouchedFile:
    """A file that is about to be changed, or was, with its content; None if it does not exist."""

    path: Path
    original: FileImage | None
    is_buffer: bool = False
    """Whether the content is only in the editor, not on disk."""


@dataclass(slots=True)
class TurnRecorder:
    """Records the changes of a running turn."""

    store: CheckpointStore
    snapshots: WorkspaceSnapshots
    record: TurnRecord
    _before: Manifest | None = field(default=None, init=False)
    _latest: Manifest | None = field(default=None, init=False)
    """The newest snapshot: taken before the first command, or after the last one."""
    _written: dict[str, FileVersion | None] = field(
        default_factory=dict[str, FileVersion | None], init=False
    )
    """What edits have written to disk since that snapshot."""
    _unsaved: set[str] = field(default_factory=set[str], init=False)
    """Files whose text is in the editor alone."""
    is_snapshot_due: bool = field(default=True, init=False)
    """Whether the turn has run no command yet."""
    has_record: bool = field(default=False, init=False)
    """Whether anything was stored."""
    _is_closed: bool = field(default=False, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)
    """Held while the record is changed: a thread of a cancelled turn may still be working on it."""

    @property
    def is_incomplete(self) -> bool:
        """Whether time did not suffice to store all files."""
        return self._before is not None and any(
            each.reason == TIMED_OUT for each in self._before.omitted.values()
        )

    @property
    def failures(self) -> Sequence[str]:
        """Phrases for the parts of the workspace that could not be searched."""
        if self._before is None:
            return ()
        missed = sum(each.reason == TIMED_OUT for each in self._before.omitted.values())
        return (*self._before.failures, *([f"{TIMED_OUT} for {missed:,} files"] if missed else []))

    def before_edit(self, touched: Sequence[TouchedFile]) -> None:
        """Store the state before an edit; for a file edited before, the first state counts.

        Raises:
            CheckpointError, OSError: it cannot be stored.
        """
        with self._lock:
            completed = {edit.path for edit in self.record.edits if edit.is_after_known}
            new = {str(each.path): each for each in touched if str(each.path) not in completed}
            # A thread of a cancelled turn may come here after `close`; the record is final then.
            if not new or self._is_closed:
                return
            self._create_store()
            edits = [edit for edit in self.record.edits if edit.path not in new]
            edits += map(self._record_edit, new.values())
            # Also the directories that writing these files creates.
            folders = dict.fromkeys(self.record.folders)
            for path in new:
                missing = takewhile(lambda each: not Path(each).is_dir(), parent_directories(path))
                folders |= dict.fromkeys(missing)
            self._write(replace(self.record, edits=tuple(edits), folders=tuple(folders)))

    def after_edit(self, touched: Sequence[TouchedFile]) -> None:
        """Store the state after an edit.

        Raises:
            CheckpointError, OSError: it cannot be stored.
        """
        edited = {str(each.path): each for each in touched}
        with self._lock:
            for path, each in edited.items() if self._latest is not None else ():
                # What the next command starts from, and what no snapshot has.
                self._written[path] = each.original.version if each.original else None
                if each.original is not None:
                    self.store.objects.write(each.original.data)
            self._unsaved -= edited.keys()
            self._unsaved |= {path for path, each in edited.items() if each.is_buffer}
            if not edited or not self.has_record or self._is_closed:
                return
            edits: list[RecordedEdit] = []
            for edit in self.record.edits:
                if found := edited.get(edit.path):
                    after = found.original.version if found.original else None
                    edits.append(
                        replace(
                            edit, after=after, is_after_known=True, is_after_buffer=found.is_buffer
                        )
                    )
                else:
                    edits.append(edit)
            self._write(replace(self.record, edits=tuple(edits)))

    def before_command(self) -> None:
        """Store all files of the workspace before the turn's first command.

        Raises:
            CheckpointError, OSError: they cannot be stored.
        """
        with self._lock:
            if self.is_snapshot_due and not self._is_closed:
                # Even if the snapshot fails: a later one would show the command's changes as
                # "before".
                self.is_snapshot_due = False
                self._create_store()
                try:
                    before = self.snapshots.take()
                except CheckpointStoreError as error:
                    self._write(replace(self.record, omitted={"": error.reason}))
                    raise
                # Before the record: an open record without a manifest counts as a turn without
                # commands.
                self.store.write_manifest(self.record.id, before)
                self._write(self.record)
                self._before = self._latest = before

    def after_command(self, started_at: float) -> Sequence[RecordedChange]:
        """Return the files that were changed since a command started, in seconds since 1970.

        Empty if too many files would have to be compared, or without a snapshot.

        Raises:
            CheckpointError, OSError: the files cannot be compared.
        """
        with self._lock:
            latest = self._latest
            if self._is_closed or latest is None or len(latest.states) > MAX_COMPARED_FILES:
                return ()
            after = self.snapshots.take()
            changes = {each.path: each for each in find_changes(latest, after, probe)}
            for path, version in self._written.items():
                state = after.states.get(path)
                changes[path] = RecordedChange(path, version, state, path not in after.omitted)
            self._latest = after
            self._written.clear()
            real = (each for each in changes.values() if each.path not in self._unsaved)
            return tuple(each for each in real if _is_change_since(each, started_at))

    def close(self) -> None:
        """Store the changes that the turn has made.

        Raises:
            CheckpointError, OSError: they cannot be stored; the record stays open.
        """
        with self._lock:
            # Late threads of this turn must not reopen the record.
            self._is_closed = True
            if not self.has_record:
                return
            after = self.snapshots.take() if self._before is not None else None
            edits = tuple(_with_current_state(edit) for edit in self.record.edits)
            record = replace(self.record, edits=edits)
            record = resolve_changes(record, self._before, after, self.snapshots.tops, probe)
            if not record.changes and not record.omitted:
                self.store.delete(record.id)
                return
            # The contents from before that only the user's repository has so far.
            self.snapshots.adopt(each.before.blob for each in record.changes if each.before)
            self._write(replace(record, edits=(), is_closed=True))
            # After the closed record is on disk: without the manifest an open record loses its
            # changes.
            self.store.delete_manifest(record.id)

    def _create_store(self) -> None:
        if not self.has_record:
            self.store.create(self.snapshots.roots[0])
            self.has_record = True

    def _record_edit(self, touched: TouchedFile) -> RecordedEdit:
        original = touched.original
        if original is not None:
            # Content before record: a record never names content that is not stored.
            self.store.objects.write(original.data)
        before = None if original is None else original.version
        is_first = self.is_snapshot_due
        return RecordedEdit(
            str(touched.path), before, is_buffer=touched.is_buffer, is_before_commands=is_first
        )

    def _write(self, record: TurnRecord) -> None:
        self.store.write(record)
        self.record = record


def complete(record: TurnRecord, store: CheckpointStore, scanner: WorkspaceSnapshots) -> TurnRecord:
    """Return the record of an interrupted turn with the changes found by comparing files.

    Raises:
        CheckpointError: the changes cannot be determined.
        OSError: the changes cannot be determined.
    """
    if record.is_closed:
        return record
    before = store.read_manifest(record.id)
    after = scanner.take() if before is not None else None
    record = resolve_changes(record, before, after, scanner.tops, probe)
    scanner.adopt(each.before.blob for each in record.changes if each.before)
    if before is None:  # edits only: each but an interrupted one knows its result
        return record
    return replace(record, changes=mark_uncertain(record.changes))


def _is_change_since(change: RecordedChange, started_at: float) -> bool:
    """Return whether a file certainly has another content, and got it since then."""
    before, after = change.before, change.after
    if not change.is_after_known or (before and after and before.blob == after.blob):
        return False
    if before is None and after is None:
        return False
    probed = probe(change.path)
    return probed is None or probed[1] >= started_at - CLOCK_SLACK_SECONDS


def _with_current_state(edit: RecordedEdit) -> RecordedEdit:
    """Return an interrupted edit with the current state of its file."""
    if edit.is_after_known:
        return edit
    try:
        found = read_file_image(Path(edit.path))
    except OSError:
        return edit
    return replace(edit, after=None if found is None else found.version, is_after_known=True)
