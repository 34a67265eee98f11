"""One turn while it runs: what its changes start from is kept before they are made. It blocks.

A record is on disk before the change that it is about. A process that ends in between leaves one
that is not closed; what its turn made is then told by comparing.
"""

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from threading import Lock

from acp_server.checkpoints.disk import Original, original_at
from acp_server.checkpoints.errors import KeepingError
from acp_server.checkpoints.git import LATE
from acp_server.checkpoints.looking import WorkspaceLook
from acp_server.checkpoints.manifests import Manifest, folders_above
from acp_server.checkpoints.records import Edit, Origin, Record
from acp_server.checkpoints.resolving import Seen, settled, uncertain
from acp_server.checkpoints.snapshots import look_at
from acp_server.checkpoints.store import CheckpointStore
from acp_server.frozen import frozen


@frozen
class Touched:
    """A file that is about to be changed, or was: with its bytes, None where there is none."""

    path: Path
    original: Original | None
    is_buffer: bool = False
    """Whether these bytes are in the editor only."""


def new_record(origin: Origin) -> Record:
    """Return an empty record. Ids are in the order of time."""
    return Record(f"{int(origin.started_at * 1000):011x}{secrets.token_hex(2)}", origin)


@dataclass(slots=True)
class OpenTurn:
    """What is kept of a turn that runs."""

    store: CheckpointStore
    look: WorkspaceLook
    record: Record
    _before: Manifest | None = field(default=None, init=False)
    _is_snapshot_due: bool = field(default=True, init=False)
    _is_made: bool = field(default=False, init=False)
    _is_over: bool = field(default=False, init=False)
    _alone: Lock = field(default_factory=Lock, init=False)
    """Held by what works on the record: of a cancelled turn something may still be at it."""

    @property
    def has_record(self) -> bool:
        """Whether anything was kept."""
        return self._is_made

    @property
    def is_snapshot_due(self) -> bool:
        """Whether the turn has run no command yet."""
        return self._is_snapshot_due

    @property
    def faults(self) -> Sequence[str]:
        """What of the workspace could not be looked through, in a phrase each."""
        if self._before is None:
            return ()
        late = sum(each.reason == LATE for each in self._before.unkept.values())
        return (*self._before.faults, *([f"{LATE} for {late:,} files"] if late else []))

    def before_edit(self, touched: Sequence[Touched]) -> None:
        """Keep what an edit starts from; of a file that was changed before, the first counts.

        Raises:
            CheckpointError, OSError: it cannot be kept.
        """
        with self._alone:
            made = {edit.path for edit in self.record.edits if edit.is_after_known}
            new = {str(each.path): each for each in touched if str(each.path) not in made}
            if not new or self._is_over:
                return
            self._make()
            edits = [edit for edit in self.record.edits if edit.path not in new]
            edits += map(self._edit, new.values())
            folders = dict.fromkeys((*self.record.folders, *_missing_folders(new)))
            self._write(replace(self.record, edits=tuple(edits), folders=tuple(folders)))

    def after_edit(self, touched: Sequence[Touched]) -> None:
        """Keep what an edit has made.

        Raises:
            CheckpointError, OSError: it cannot be kept.
        """
        made = {str(each.path): each for each in touched}
        with self._alone:
            if not made or not self._is_made or self._is_over:
                return
            edits = tuple(
                _after(edit, made[edit.path]) if edit.path in made else edit
                for edit in self.record.edits
            )
            self._write(replace(self.record, edits=edits))

    def before_command(self) -> None:
        """Keep all files of the workspace, before the turn's first command.

        Raises:
            CheckpointError, OSError: they cannot be kept.
        """
        with self._alone:
            if self._is_snapshot_due and not self._is_over:
                self._is_snapshot_due = False
                self._take_snapshot()

    def _take_snapshot(self) -> None:
        self._make()
        try:
            before = self.look.take()
        except KeepingError as error:
            self._write(replace(self.record, unkept={"": error.reason}))
            raise
        self.store.write_manifest(self.record.id, before)
        self._write(self.record)
        self._before = before

    def close(self, prompt_digest: str) -> None:
        """Keep what the turn has made of its files.

        Raises:
            CheckpointError, OSError: it cannot be kept; the record stays open.
        """
        with self._alone:
            self._is_over = True
            if self._is_made:
                self._close(prompt_digest)

    def _close(self, prompt_digest: str) -> None:
        after = self.look.take() if self._before is not None else None
        edits = tuple(_seen(edit) for edit in self.record.edits)
        record = replace(self.record, edits=edits, prompt_digest=prompt_digest)
        record = settled(record, Seen(self._before, after, self.look.tops), look_at)
        if not record.changes and not record.unkept:
            self.store.forget(record.id)
            return
        self._write(replace(record, edits=(), is_closed=True))
        self.store.drop_manifest(record.id)

    def _make(self) -> None:
        if not self._is_made:
            self.store.make(self.look.roots[0])
            self._is_made = True

    def _edit(self, touched: Touched) -> Edit:
        original = touched.original
        if original is not None:
            self.store.objects.write(original.data)
        before = None if original is None else original.state
        is_first = self._is_snapshot_due
        return Edit(str(touched.path), before, is_buffer=touched.is_buffer, came_first=is_first)

    def _write(self, record: Record) -> None:
        self.store.write(record)
        self.record = record


def completed(record: Record, store: CheckpointStore, look: WorkspaceLook) -> Record:
    """Return a record whose turn never came to its end with what can be told by comparing.

    Raises:
        CheckpointError: it cannot be told.
        OSError: likewise.
    """
    if record.is_closed:
        return record
    before = store.read_manifest(record.id)
    after = look.take() if before is not None else None
    record = settled(record, Seen(before, after, look.tops), look_at)
    if before is None:  # edits alone: each knows what it wrote, but one that was cut short
        return record
    return replace(record, changes=uncertain(record.changes))


def origin_now(session_id: str, title: str, position: int, undoes: str = "") -> Origin:
    """Return what a record that begins now is about."""
    return Origin(session_id, title, time.time(), position, undoes)


def _missing_folders(paths: Iterable[str]) -> Iterator[str]:
    """Yield the folders that writing these files makes."""
    for path in paths:
        yield from takewhile(lambda folder: not Path(folder).is_dir(), folders_above(path))


def _after(edit: Edit, made: Touched) -> Edit:
    after = None if made.original is None else made.original.state
    return replace(edit, after=after, is_after_known=True, is_after_buffer=made.is_buffer)


def _seen(edit: Edit) -> Edit:
    """Return an edit that was cut short with what its file is now."""
    if edit.is_after_known:
        return edit
    try:
        found = original_at(Path(edit.path))
    except OSError:
        return edit
    return replace(edit, after=None if found is None else found.state, is_after_known=True)
