"""The database file: opening, migrations, recovery from damage, and transactions.

Used only by the thread that opens it. Knows the tables only as migrations, and nothing of sessions.
"""

import os
import sqlite3
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

from acp_server.history.errors import (
    DatabaseBusyError,
    DatabaseDamagedError,
    DatabaseReplacedError,
    SessionStoreError,
)
from acp_server.history.mounts import is_on_network_filesystem
from acp_server.history.schema import MIGRATIONS, Migration
from skills_store.locks import LockedError, locked

LOCK_TIMEOUT_SECONDS = 2.0
"""How long to wait while other processes lock the database."""
RETRY_SECONDS = 0.02
"""The pause before another attempt: SQLite itself waits only for SQLITE_BUSY, and not always."""
_PRIVATE = 0o600
_BUSY_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DAMAGE_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_DENIED_CODES = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN}
_COMPANION_SUFFIXES = ("", "-wal", "-shm", "-journal")

Result = TypeVar("Result")


class SessionDatabase:
    """The database file, while it is open."""

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration] = MIGRATIONS,
        is_network: Callable[[Path], bool] = is_on_network_filesystem,
    ) -> None:
        self.path = path
        self._migrations = migrations
        self._is_network = is_network
        self._connection: Connection | None = None
        self._file_identity = (0, 0)
        """Identity of the file opened last: device and inode."""
        self.origin = ""
        """The random key stored in the database that was opened last; unique to it."""
        self.damaged_path: Path | None = None
        """Where the last damaged file was moved to by this process."""
        self._lock_timeout_seconds = LOCK_TIMEOUT_SECONDS

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._connection is not None

    def set_lock_timeout(self, seconds: float) -> None:
        """Wait this long from now on while other processes lock the database."""
        self._lock_timeout_seconds = seconds
        if self._connection is not None:
            self._apply_lock_timeout(self._connection)

    def free_memory(self) -> None:
        """Free the cached pages; the next statement reads from the file again what it needs."""
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.execute("PRAGMA shrink_memory")

    def open(self) -> Sequence[str]:
        """Open the file, create or migrate it if needed, and return notices for the user.

        A damaged file is moved aside and a new one created.

        Raises:
            SessionStoreError: it cannot be used.
        """
        self.close()
        with self._lock():
            try:
                return self._open()
            except DatabaseDamagedError:
                return [damage_notice(self._move_aside()), *self._open()]

    def replace(self) -> Sequence[str]:
        """Move the file aside, unless another process already has, and open a new one.

        Raises:
            SessionStoreError: it cannot be used.
        """
        with self._lock():
            # Inside the lock: another process may have replaced the damaged file already, and its
            # new one must not be moved aside.
            is_in_place = self.is_open and self._is_in_place()
            notices = [damage_notice(self._move_aside())] if is_in_place else []
            self.close()
            return [*notices, *self._open()]

    def close(self) -> None:
        """Close the file, if it is open."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    @contextmanager
    def transaction(self, *, is_durable: bool = False) -> Generator[Connection]:
        """Run the body as one transaction; with `is_durable`, synced to the disk.

        Write transactions of several processes run one after the other.

        Raises:
            SessionStoreError: nothing was written.
        """
        with self._translate_errors():
            connection = self._checked_connection()
            # With NORMAL a commit survives the end of the process, but not always a power failure.
            if is_durable:
                connection.execute("PRAGMA synchronous = FULL")
            try:
                # IMMEDIATE takes the write lock first. A deferred transaction that reads and then
                # writes can fail with SQLITE_BUSY in the middle, where waiting does not help.
                self._retry_while_locked(lambda: connection.execute("BEGIN IMMEDIATE"))
                yield connection
                self._retry_while_locked(connection.commit)
            finally:
                if connection.in_transaction:
                    # Some errors, such as a full disk, have already rolled it back.
                    with suppress(sqlite3.Error):
                        connection.rollback()
                if is_durable:
                    connection.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def read_transaction(self, *, may_be_removed: bool = False) -> Generator[Connection]:
        """Give the body one consistent snapshot of the database.

        With `may_be_removed`, also of a file that is no longer in place: it can be read as long as
        it is open.

        Raises:
            SessionStoreError: it cannot be read.
        """
        with self._translate_errors():
            connection = self._connection if may_be_removed else self._checked_connection()
            if connection is None:
                raise SessionStoreError(f"{self.path} is not open")
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                # There is nothing to commit; without an end the old snapshot would keep the log
                # growing.
                connection.rollback()

    def _open(self) -> Sequence[str]:
        with self._translate_errors():
            # SQLite creates files with the umask's permissions; conversations must stay private.
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, _PRIVATE))
            # isolation_level=None: the module must not start transactions of its own.
            connection = sqlite3.connect(self.path, isolation_level=None)
            self._connection = connection
            self._apply_lock_timeout(connection)
            status = self.path.stat()
            self._file_identity = (status.st_dev, status.st_ino)
            version: int = connection.execute("PRAGMA user_version").fetchone()[0]
            # Before any PRAGMA that writes: a database of a newer version must not be touched.
            if version > len(self._migrations):
                self.close()
                raise SessionStoreError(newer_notice(self.path, version, len(self._migrations)))
            notices = self._configure(connection)
            # The caller holds the file lock: two processes must not run the same migration.
            for number in range(version, len(self._migrations)):
                self._migrate(connection, self._migrations[number], number + 1)
            self.origin = connection.execute("SELECT key FROM origin").fetchone()[0]
            return notices

    def _configure(self, connection: Connection) -> Sequence[str]:
        """Set the journal and sync modes; return notices for the user."""
        # The write-ahead log needs memory shared between processes, which network file systems
        # lack: there it corrupts the database.
        requested_mode = "delete" if self._is_network(self.path.parent) else "wal"
        pragma = f"PRAGMA journal_mode = {requested_mode}"
        mode: str = self._retry_while_locked(lambda: connection.execute(pragma)).fetchone()[0]
        for setting in ("synchronous = NORMAL", "foreign_keys = ON", "fullfsync = ON"):
            connection.execute(f"PRAGMA {setting}")
        return [] if mode == "wal" else [network_notice(self.path)]

    def _checked_connection(self) -> Connection:
        """Return the connection, if its file is still in place.

        Raises:
            SessionStoreError: the file is not open, or another one has taken its place.
        """
        if self._connection is None:
            raise SessionStoreError(f"{self.path} is not open")
        # An open descriptor survives the removal of its file: writes would succeed and be lost.
        if not self._is_in_place():
            raise DatabaseReplacedError(f"{self.path} was removed or replaced while in use")
        return self._connection

    def _is_in_place(self) -> bool:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return False
        return (status.st_dev, status.st_ino) == self._file_identity

    @contextmanager
    def _lock(self) -> Generator[None]:
        """Keep other processes from migrating the file or moving it aside."""
        with self._translate_errors():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                with locked(self.path, self._lock_timeout_seconds):
                    yield
            except LockedError as error:
                raise _busy_error(self.path) from error

    def _move_aside(self) -> Path:
        """Rename the file and its companions, without overwriting; then close it.

        Closing comes last, because SQLite deletes the log when it closes a database.
        """
        if sys.platform == "win32":  # open files cannot be renamed there
            self.close()
        timestamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
        # An earlier damaged file may bear the same second.
        names = [timestamp, *(f"{timestamp}.{number}" for number in range(2, 100))]
        candidates = [self.path.with_name(f"{self.path.name}.corrupt-{name}") for name in names]
        target = next(candidate for candidate in candidates if not candidate.exists())
        # The log belongs to its database: left behind, it would be applied to the new file.
        for suffix in _COMPANION_SUFFIXES:
            with suppress(FileNotFoundError):
                _companion_path(self.path, suffix).rename(_companion_path(target, suffix))
        self.close()
        self.damaged_path = target
        return target

    def _apply_lock_timeout(self, connection: Connection) -> None:
        connection.execute(f"PRAGMA busy_timeout = {self._lock_timeout_seconds * 1000:.0f}")

    def _migrate(self, connection: Connection, migration: Migration, version: int) -> None:
        self._retry_while_locked(lambda: connection.execute("BEGIN IMMEDIATE"))
        try:
            for statement in migration:
                connection.execute(statement)
            # In the same transaction as the migration: after a crash neither or both are there.
            connection.execute(f"PRAGMA user_version = {version}")
            self._retry_while_locked(connection.commit)
        finally:
            if connection.in_transaction:
                connection.rollback()

    def _retry_while_locked(self, action: Callable[[], Result]) -> Result:
        """Repeat an action while other processes lock the database, until the lock time-out."""
        deadline_seconds = time.monotonic() + self._lock_timeout_seconds
        while True:
            try:
                return action()
            except sqlite3.OperationalError as error:
                is_busy = _primary_error_code(error) in _BUSY_CODES
                if not is_busy or time.monotonic() > deadline_seconds:
                    raise
            time.sleep(RETRY_SECONDS)

    @contextmanager
    def _translate_errors(self) -> Generator[None]:
        """Translate errors of SQLite and of the system."""
        try:
            yield
        except sqlite3.Error as error:
            raise _to_store_error(error, self.path) from error
        except OSError as error:
            reason = (
                f"{self.path.parent} cannot be used ({error}); check that it is a directory and"
                " its permissions"
            )
            raise SessionStoreError(reason) from error


def damage_notice(moved_path: Path) -> str:
    """Return the notice that the database was damaged."""
    return (
        f"The session database was damaged. It was moved to {moved_path} and a new one was created;"
        " what can be read of the earlier sessions is copied to it."
    )


def newer_notice(path: Path, version: int, known: int) -> str:
    """Return the error text for a database of a newer version."""
    return (
        f"{path} was written by a newer version of this program (schema version {version},"
        f" supported up to {known}); update the program"
    )


def network_notice(path: Path) -> str:
    """Return the notice that the database is on a network file system."""
    return (
        f"{path.parent} is on a network file system: sessions are saved without a write-ahead log,"
        " which is slower. Move HERMES_HOME to a local disk if you can."
    )


def _primary_error_code(error: sqlite3.Error) -> int:
    """Return the primary SQLite error code; 0 for errors of the Python module itself."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    # Extended codes carry the primary code in their lowest byte.
    return code & 0xFF


def _busy_error(path: Path) -> DatabaseBusyError:
    return DatabaseBusyError(f"another program has locked {path}")


def _to_store_error(error: sqlite3.Error, path: Path) -> SessionStoreError:
    code = _primary_error_code(error)
    if code in _DAMAGE_CODES:
        return DatabaseDamagedError(f"{path} is damaged ({error})")
    if code in _BUSY_CODES:
        return _busy_error(path)
    if code == sqlite3.SQLITE_FULL:
        return SessionStoreError(f"the disk is full; free some space for {path}")
    if code == sqlite3.SQLITE_IOERR:
        return SessionStoreError(
            f"{path} cannot be used ({error}); check the disk and its free space"
        )
    if code in _DENIED_CODES:
        return SessionStoreError(
            f"{path} cannot be written ({error}); check its permissions and its directory's"
        )
    return SessionStoreError(f"{path} cannot be used ({error}); move it away to start a new one")


def _companion_path(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}{suffix}")
