"""Checkpoint store of one workspace: objects, one index per root, and records. Blocks.

Several servers may share it. Using an index or pruning requires the lock; records are separate
files, each written atomically.
"""

import hashlib
import os
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.checkpoints import manifests, records
from acp_server.checkpoints.config import CheckpointConfig
from acp_server.checkpoints.errors import CheckpointReadError, CheckpointStoreError
from acp_server.checkpoints.git import make_repository
from acp_server.checkpoints.manifests import Manifest
from acp_server.checkpoints.objects import ObjectStore
from acp_server.checkpoints.records import TurnRecord
from skills_store.atomic import write_atomically
from skills_store.locks import LockedError, locked

_PRIVATE = 0o700
_RECORD_MODE = 0o600
_DAY_SECONDS = 86_400.0


def store_directory(config_home: Path, workspace: Path) -> Path:
    """Return the store directory of a workspace; `config_home` is this program's directory.

    >>> store_directory(Path("/home/me/.hermes"), Path("/src/app")).parent
    PosixPath('/home/me/.hermes/acp/checkpoints')
    """
    return config_home / "acp" / "checkpoints" / digest_of(workspace)


def digest_of(path: Path) -> str:
    """Return a short unique name for a path."""
    return hashlib.blake2b(os.fsencode(path), digest_size=8).hexdigest()


@dataclass(slots=True)
class CheckpointStore:
    """Checkpoint store of one workspace."""

    directory: Path
    config: CheckpointConfig
    objects: ObjectStore = field(init=False)
    """The contents of all stored files."""

    def __post_init__(self) -> None:
        """Prepare; nothing is created before something is stored."""
        self.objects = ObjectStore(self.repository / "objects")

    @property
    def repository(self) -> Path:
        """The git directory of our own repository."""
        return self.directory / "git"

    def index_path(self, root: Path) -> Path:
        """Return the index file for a root."""
        return self.directory / f"index-{digest_of(root)}"

    def create(self, workspace: Path) -> None:
        """Create the directory, private to the user, unless it exists.

        Raises:
            OSError: it cannot be created.
        """
        for folder in (self.directory.parent, self.directory):
            folder.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            # Also for an existing directory: the stored files may contain secrets.
            folder.chmod(_PRIVATE)
        make_repository(self.repository)
        self._records.mkdir(exist_ok=True)
        workspace_file = self.directory / "workspace"
        if not workspace_file.exists():
            write_atomically(workspace_file, os.fsencode(workspace))

    @contextmanager
    def hold_lock(self, patience_seconds: float) -> Generator[None]:
        """Hold the lock.

        Raises:
            CheckpointStoreError: another process has held it for longer than `patience_seconds`.
        """
        try:
            with locked(self.directory / "index", patience_seconds):
                yield
        except LockedError as error:
            reason = "another server, or a task of this one, is writing them for this workspace"
            raise CheckpointStoreError(reason) from error

    def write(self, record: TurnRecord) -> None:
        """Store a record, replacing its previous version.

        Raises:
            OSError: it cannot be stored.
        """
        write_atomically(self._record(record.id), records.encode(record), _RECORD_MODE)

    def read(self, record_id: str) -> TurnRecord:
        """Return a record.

        Raises:
            CheckpointReadError: it is missing or cannot be read.
        """
        try:
            return records.decode(self._record(record_id).read_bytes())
        except OSError as error:
            reason = f"the record cannot be read: {error.strerror or error}"
            raise CheckpointReadError(reason) from error

    def read_if_exists(self, record_id: str) -> TurnRecord | None:
        """Return a record; None if it was deleted or cannot be read."""
        try:
            return self.read(record_id)
        except CheckpointReadError:
            return None

    def read_all(self) -> Sequence[TurnRecord]:
        """Return all readable records, the newest first."""
        found: list[TurnRecord] = []
        for path in self._records.glob("*.json"):
            try:
                found.append(self.read(path.stem))
            except CheckpointReadError:  # written by another version, or damaged
                continue
        return sorted(found, key=lambda record: record.id, reverse=True)

    def write_manifest(self, record_id: str, manifest: Manifest) -> None:
        """Store the files before a turn's first command.

        Raises:
            OSError: they cannot be stored.
        """
        write_atomically(self._manifest(record_id), manifests.encode(manifest), _RECORD_MODE)

    def read_manifest(self, record_id: str) -> Manifest | None:
        """Return the files before a turn's first command; None if it ran none.

        Raises:
            CheckpointReadError: it cannot be read.
        """
        try:
            return manifests.decode(self._manifest(record_id).read_bytes())
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = f"the list of files cannot be read: {error.strerror or error}"
            raise CheckpointReadError(reason) from error

    def delete_manifest(self, record_id: str) -> None:
        """Delete a manifest: the closed record contains all changes."""
        self._manifest(record_id).unlink(missing_ok=True)

    def size_bytes(self) -> int:
        """Return the size of all objects in bytes."""
        return sum(self.objects.sizes().values())

    def prune(self, indexed: Iterable[str], now_seconds: float | None = None) -> int:
        """Delete records that are too old or take too much space, oldest first; return how many.

        `indexed` are the objects that an index still names. Hold the lock.

        Raises:
            OSError: something cannot be deleted.
        """
        now = time.time() if now_seconds is None else now_seconds
        sizes, kept = self.objects.sizes(), set(indexed)
        total_bytes = sum(sizes.get(name, 0) for name in kept)
        dropped = 0
        for record in self.read_all():
            names = self._names_of(record) - kept
            total_bytes += sum(sizes.get(name, 0) for name in names)
            is_old = now - record.origin.started_at > self.config.keep_days * _DAY_SECONDS
            if is_old or total_bytes > self.config.max_total_bytes:
                self.delete(record.id)
                dropped += 1
            else:
                kept |= names
        # After the records: an object is deleted only if no remaining record names it.
        self.objects.prune(kept, now)
        return dropped

    def delete(self, record_id: str) -> None:
        """Delete a record."""
        self._record(record_id).unlink(missing_ok=True)
        self.delete_manifest(record_id)

    def _names_of(self, record: TurnRecord) -> set[str]:
        """Return the objects that a record needs."""
        states = [state for each in record.changes for state in (each.before, each.after)]
        states += [state for each in record.edits for state in (each.before, each.after)]
        names = {state.blob for state in states if state is not None}
        if not record.is_closed:
            try:
                manifest = self.read_manifest(record.id)
            except CheckpointReadError:
                manifest = None
            names |= {state.blob for state in manifest.states.values()} if manifest else set()
        return names

    @property
    def _records(self) -> Path:
        return self.directory / "records"

    def _record(self, record_id: str) -> Path:
        return self._records / f"{record_id}.json"

    def _manifest(self, record_id: str) -> Path:
        return self._records / f"{record_id}.before"
