"""The kept states of one workspace: objects, an index for each root, and records. It blocks.

Several servers may share it. Whoever uses an index, or clears away, holds the lock; records are
files of their own, written whole.
"""

import hashlib
import os
import shutil
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.checkpoints import manifests, records
from acp_server.checkpoints.errors import KeepingError, LostError
from acp_server.checkpoints.git import make_repository
from acp_server.checkpoints.manifests import Manifest
from acp_server.checkpoints.objects import ObjectStore
from acp_server.checkpoints.records import Record
from acp_server.checkpoints.rules import CheckpointRules
from skills_store.atomic import write_atomically
from skills_store.locks import LockedError, locked

_PRIVATE = 0o700
_RECORD_MODE = 0o600
_DAY_SECONDS = 86_400.0


def folder_of(own_folder: Path, workspace: Path) -> Path:
    """Return where the states of a workspace lie; `own_folder` is where this program keeps things.

    >>> folder_of(Path("/home/me/.hermes"), Path("/src/app")).parent
    PosixPath('/home/me/.hermes/acp/checkpoints')
    """
    return own_folder / "acp" / "checkpoints" / digest_of(workspace)


def digest_of(path: Path) -> str:
    """Return a short name for a path, different for different ones."""
    return hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()


@dataclass(slots=True)
class CheckpointStore:
    """What is kept of one workspace."""

    folder: Path
    rules: CheckpointRules
    _objects: ObjectStore = field(init=False)

    def __post_init__(self) -> None:
        """Know the objects; nothing is made before something is kept."""
        self._objects = ObjectStore(self.repository / "objects")

    @property
    def repository(self) -> Path:
        """The repository that git is told is ours."""
        return self.folder / "git"

    @property
    def objects(self) -> ObjectStore:
        """The bytes of all kept files."""
        return self._objects

    def index_of(self, root: Path) -> Path:
        """Return the index for a root."""
        return self.folder / f"index-{digest_of(root)}"

    def make(self, workspace: Path) -> None:
        """Make the folder, readable by nobody else, unless it is there.

        Raises:
            OSError: it cannot be made.
        """
        for folder in (self.folder.parent, self.folder):
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            folder.chmod(_PRIVATE)
        make_repository(self.repository)
        self._records.mkdir(exist_ok=True)
        named = self.folder / "workspace"
        if not named.exists():
            write_atomically(named, os.fsencode(workspace))

    @contextmanager
    def alone(self, patience_seconds: float) -> Generator[None]:
        """Hold the lock.

        Raises:
            KeepingError: another process has it for longer than that.
        """
        try:
            with locked(self.folder / "index", patience_seconds):
                yield
        except LockedError as error:
            reason = "another server is at it in the same workspace"
            raise KeepingError(reason) from error

    def write(self, record: Record) -> None:
        """Keep a record in the place of the one before.

        Raises:
            OSError: it cannot be kept.
        """
        write_atomically(self._record(record.id), records.encoded(record), _RECORD_MODE)

    def read(self, record_id: str) -> Record:
        """Return a record.

        Raises:
            LostError: there is none, or it cannot be read.
        """
        try:
            return records.decoded(self._record(record_id).read_bytes())
        except OSError as error:
            reason = f"the record cannot be read: {error.strerror or error}"
            raise LostError(reason) from error

    def all(self) -> Sequence[Record]:
        """Return all records that can be read, the newest first."""
        found: list[Record] = []
        for path in self._records.glob("*.json"):
            try:
                found.append(self.read(path.stem))
            except LostError:  # written by another version, or damaged: it is of no use
                continue
        return sorted(found, key=lambda record: record.origin.started_at, reverse=True)

    def write_manifest(self, record_id: str, manifest: Manifest) -> None:
        """Keep what the files were before a turn's first command.

        Raises:
            OSError: it cannot be kept.
        """
        write_atomically(self._manifest(record_id), manifests.encoded(manifest), _RECORD_MODE)

    def read_manifest(self, record_id: str) -> Manifest | None:
        """Return what the files were before a turn's first command; None if it ran none.

        Raises:
            LostError: it cannot be read.
        """
        try:
            return manifests.decoded(self._manifest(record_id).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = f"the list of files cannot be read: {error.strerror or error}"
            raise LostError(reason) from error

    def drop_manifest(self, record_id: str) -> None:
        """Forget it: the record says all."""
        self._manifest(record_id).unlink(missing_ok=True)

    def size_bytes(self) -> int:
        """Return how much is kept."""
        return sum(self._objects.sizes().values())

    def prune(self, indexed: Iterable[str], now_seconds: float | None = None) -> int:
        """Forget what is too old or too much, the oldest first; return how many records.

        `indexed` are the objects that an index still knows. Hold the lock.

        Raises:
            OSError: something cannot be removed.
        """
        now = time.time() if now_seconds is None else now_seconds
        sizes, kept = self._objects.sizes(), set(indexed)
        left = sum(sizes.get(name, 0) for name in kept)
        dropped = 0
        for record in self.all():
            names = self._names_of(record) - kept
            left += sum(sizes.get(name, 0) for name in names)
            is_old = now - record.origin.started_at > self.rules.keep_days * _DAY_SECONDS
            if is_old or left > self.rules.max_total_bytes:
                self.forget(record.id)
                dropped += 1
            else:
                kept |= names
        self._objects.clear(kept, now)
        return dropped

    def forget(self, record_id: str) -> None:
        """Forget a record."""
        self._record(record_id).unlink(missing_ok=True)
        self.drop_manifest(record_id)

    def erase(self) -> None:
        """Forget everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _names_of(self, record: Record) -> set[str]:
        """Return the objects that a record needs."""
        states = [state for each in record.changes for state in (each.before, each.after)]
        states += [state for each in record.edits for state in (each.before, each.after)]
        names = {state.blob for state in states if state is not None}
        if not record.is_closed:
            try:
                manifest = self.read_manifest(record.id)
            except LostError:
                manifest = None
            names |= {state.blob for state in manifest.states.values()} if manifest else set()
        return names

    @property
    def _records(self) -> Path:
        return self.folder / "records"

    def _record(self, record_id: str) -> Path:
        return self._records / f"{record_id}.json"

    def _manifest(self, record_id: str) -> Path:
        return self._records / f"{record_id}.before"
