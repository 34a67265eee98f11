"""The database as a file: opened, brought up to date, moved aside when damaged; transactions.

Belongs to the one thread that opens it. Knows which tables there are only as migrations, and
nothing of sessions.
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

from acp_server.history.errors import BusyError, DamagedError, MisplacedError, StoreError
from acp_server.history.mounts import is_on_network
from acp_server.history.schema import MIGRATIONS, Migration
from skills_store.locks import locked

PATIENCE_SECONDS = 30.0
"""How long others may keep the database to themselves."""
_BUSY_SECONDS = 5.0
_PRIVATE = 0o600
_BUSY_CODES = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL}
_DAMAGE_CODES = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_DENIED_CODES = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN}
_COMPANIONS = ("", "-wal", "-shm", "-journal")

Result = TypeVar("Result")


class Database:
    """The file, while it is open."""

    def __init__(
        self,
        path: Path,
        migrations: Sequence[Migration] = MIGRATIONS,
        is_network: Callable[[Path], bool] = is_on_network,
    ) -> None:
        self.path = path
        self._migrations = migrations
        self._is_network = is_network
        self._connection: Connection | None = None
        self._file = (0, 0)
        """The file that was opened last: its device, and its number there while it is open."""
        self.origin = ""
        """What tells the database that was opened last from any other."""

    @property
    def is_open(self) -> bool:
        """Whether it can be used."""
        return self._connection is not None

    def open(self) -> Sequence[str]:
        """Open the file, made or brought up to date if need be; return what the user is to know.

        A damaged one is moved aside, and another begun.

        Raises:
            StoreError: it cannot be used.
        """
        self.close()
        with self._alone():
            try:
                return self._open()
            except DamagedError:
                return [damage_notice(self._move_aside()), *self._open()]

    def replace(self) -> Sequence[str]:
        """Move the file aside, unless somebody else did, and begin another; as `open` otherwise."""
        with self._alone():
            is_ours = self.is_open and self._is_in_place()
            notices = [damage_notice(self._move_aside())] if is_ours else []
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
        """Do what is written in the body wholly or not at all; `is_durable`: through to the disk.

        The body may be run by several processes, one after the other.

        Raises:
            StoreError: nothing of it was done.
        """
        with self._explained():
            connection = self._checked()
            if is_durable:
                connection.execute("PRAGMA synchronous = FULL")
            try:
                _patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
                yield connection
                _patiently(connection.commit)
            finally:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):  # what failed has rolled it back itself
                        connection.rollback()
                if is_durable:
                    connection.execute("PRAGMA synchronous = NORMAL")

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """See one state of the database for as long as the body runs.

        Raises:
            StoreError: it cannot be read.
        """
        with self._explained():
            connection = self._checked()
            connection.execute("BEGIN")
            try:
                yield connection
            finally:
                connection.rollback()

    def _open(self) -> Sequence[str]:
        with self._explained():
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, _PRIVATE))
            connection = sqlite3.connect(self.path, _BUSY_SECONDS, isolation_level=None)
            self._connection = connection
            status = self.path.stat()
            self._file = (status.st_dev, status.st_ino)
            version: int = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > len(self._migrations):
                self.close()
                raise StoreError(newer_notice(self.path, version, len(self._migrations)))
            notices = self._tune(connection)
            for number in range(version, len(self._migrations)):
                _migrate(connection, self._migrations[number], number + 1)
            self.origin = connection.execute("SELECT key FROM origin").fetchone()[0]
            return notices

    def _tune(self, connection: Connection) -> Sequence[str]:
        """Choose how it writes; return what the user is to know of that."""
        wanted = "delete" if self._is_network(self.path.parent) else "wal"
        pragma = f"PRAGMA journal_mode = {wanted}"
        mode: str = _patiently(lambda: connection.execute(pragma)).fetchone()[0]
        for setting in ("synchronous = NORMAL", "foreign_keys = ON", "fullfsync = ON"):
            connection.execute(f"PRAGMA {setting}")
        return [] if mode == "wal" else [network_notice(self.path)]

    def _checked(self) -> Connection:
        """Return the connection, as long as its file is where it was."""
        if self._connection is None:
            raise StoreError(f"{self.path} is not open")
        if not self._is_in_place():
            raise MisplacedError(f"{self.path} was removed or replaced while it was used")
        return self._connection

    def _is_in_place(self) -> bool:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return False
        return (status.st_dev, status.st_ino) == self._file

    @contextmanager
    def _alone(self) -> Generator[None]:
        """Let no other process migrate the file or move it aside."""
        with self._explained():
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with locked(self.path, PATIENCE_SECONDS):
                yield

    def _move_aside(self) -> Path:
        """Give the file and what belongs to it other names; nothing is overwritten.

        It is closed behind that: SQLite takes the log away when it closes a database.
        """
        if sys.platform == "win32":  # what is open cannot be renamed there
            self.close()
        stamp = f"{datetime.now(UTC):%Y%m%dT%H%M%S}"
        names = [stamp, *(f"{stamp}.{number}" for number in range(2, 100))]
        places = [self.path.with_name(f"{self.path.name}.corrupt-{name}") for name in names]
        moved = next(place for place in places if not place.exists())
        for companion in _COMPANIONS:
            with suppress(FileNotFoundError):
                _beside(self.path, companion).rename(_beside(moved, companion))
        self.close()
        return moved

    @contextmanager
    def _explained(self) -> Generator[None]:
        """Have what the system or SQLite say told as an error of ours."""
        try:
            yield
        except sqlite3.Error as error:
            raise _told(error, self.path) from error
        except OSError as error:
            reason = (
                f"{self.path.parent} cannot be used ({error}); check what it is, and its rights"
            )
            raise StoreError(reason) from error


def damage_notice(moved: Path) -> str:
    """Say that the database was damaged."""
    return (
        f"The database of sessions was damaged. It is now {moved}, and a new one was begun:"
        " earlier sessions are not listed any more."
    )


def newer_notice(path: Path, version: int, known: int) -> str:
    """Say that the database is of a newer version."""
    return (
        f"{path} was written by a newer version of this program (its tables are of version"
        f" {version}, here {known} is known); update the program"
    )


def network_notice(path: Path) -> str:
    """Say that the database lies on another machine."""
    return (
        f"{path.parent} lies on a network: sessions are kept there without a write-ahead log,"
        " which is slower. A HERMES_HOME on a local disk is better."
    )


def _migrate(connection: Connection, migration: Migration, version: int) -> None:
    _patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
    try:
        for statement in migration:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {version}")
        _patiently(connection.commit)
    finally:
        if connection.in_transaction:
            connection.rollback()


def _patiently(action: Callable[[], Result]) -> Result:
    """Do something again and again as long as others keep the database to themselves."""
    deadline_seconds = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return action()
        except sqlite3.OperationalError as error:
            if _code(error) not in _BUSY_CODES or time.monotonic() > deadline_seconds:
                raise


def _code(error: sqlite3.Error) -> int:
    """Return SQLite's primary code of an error; 0 for those of the Python module itself."""
    code: int = getattr(error, "sqlite_errorcode", 0)
    return code & 0xFF


def _told(error: sqlite3.Error, path: Path) -> StoreError:
    code = _code(error)
    if code in _DAMAGE_CODES:
        return DamagedError(f"{path} is damaged ({error})")
    if code in _BUSY_CODES:
        return BusyError(f"another program keeps {path} to itself; end that program")
    if code == sqlite3.SQLITE_FULL:
        return StoreError(f"the disk is full; make room for {path}")
    if code == sqlite3.SQLITE_IOERR:
        return StoreError(f"{path} cannot be used ({error}); check its disk, and the room there")
    if code in _DENIED_CODES:
        return StoreError(f"{path} cannot be written ({error}); check its rights and its folder's")
    return StoreError(f"{path} cannot be used ({error}); move it away, and another is begun")


def _beside(path: Path, suffix: str) -> Path:
    return path.with_name(f"{path.name}{suffix}")
