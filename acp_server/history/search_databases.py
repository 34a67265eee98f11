"""Opens databases of past texts read-only, for the duration of one search.

Nothing is ever written, and a missing file is not created. The server's own database must be
readable. The one of Hermes belongs to another program; if it cannot be read, a note says so.
"""

import sqlite3
from collections.abc import Generator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path

from acp_server.history.database import newer_notice
from acp_server.history.layouts import OWN_LAYOUT, DatabaseLayout, hermes_layout
from acp_server.history.schema import MIGRATIONS
from acp_server.history.search_database import HistoryDatabase
from acp_server.session.errors import ArchiveError
from acp_server.startup.fast_dataclass import frozen_dataclass

BUSY_SECONDS = 5.0
CACHE_KIBIBYTES = 32_768


@frozen_dataclass
class DatabasePaths:
    """Paths of the databases; a file need not exist."""

    own: Path
    hermes: Path | None = None


@frozen_dataclass
class HistoryDatabases:
    """The open databases, this server's first, and notes on those that could not be opened."""

    databases: tuple[HistoryDatabase, ...]
    notes: tuple[str, ...] = ()


@contextmanager
def open_databases(paths: DatabasePaths) -> Generator[HistoryDatabases]:
    """Open the existing databases.

    Raises:
        ArchiveError: this server's own database cannot be read.
    """
    with ExitStack() as stack:
        databases: list[HistoryDatabase] = []
        notes: list[str] = []
        try:
            if paths.own.is_file():
                connection = stack.enter_context(closing(open_read_only(paths.own)))
                version: int = connection.execute("PRAGMA user_version").fetchone()[0]
                if version > len(MIGRATIONS):
                    raise ArchiveError(newer_notice(paths.own, version, len(MIGRATIONS)))
                if version > 0:  # else it has no tables yet
                    databases.append(HistoryDatabase(connection, OWN_LAYOUT))
        except sqlite3.Error as error:
            raise to_archive_error(paths.own, error) from error
        except OSError as error:
            reason = f"{paths.own} cannot be read ({error})"
            raise ArchiveError(reason) from error
        try:
            if paths.hermes is not None and paths.hermes.is_file():
                connection = stack.enter_context(closing(open_read_only(paths.hermes)))
                if layout := _usable_hermes_layout(connection):
                    databases.append(HistoryDatabase(connection, layout))
        except (sqlite3.Error, OSError) as error:
            notes.append(f"the sessions of Hermes could not be read ({error})")
        yield HistoryDatabases(tuple(databases), tuple(notes))


def to_archive_error(path: Path, error: sqlite3.Error) -> ArchiveError:
    """Return the error for a failure to read this server's database."""
    code: int = getattr(error, "sqlite_errorcode", 0) & 0xFF
    # Not damage: the same search succeeds once the other program is done.
    if code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}:
        return ArchiveError(f"another program keeps {path} to itself; try again, or end it")
    return ArchiveError(f"{path} cannot be read ({error})")


def open_read_only(path: Path) -> sqlite3.Connection:
    """Open a database that nothing is written to; a missing file is not created."""
    # as_uri also escapes `?` and `#`, which would otherwise end the path and drop mode=ro.
    address = f"{path.absolute().as_uri()}?mode=ro"
    connection = sqlite3.connect(address, timeout=BUSY_SECONDS, uri=True)
    # In addition to mode=ro: a bug here must not change another program's database.
    connection.execute("PRAGMA query_only = ON")
    connection.execute(f"PRAGMA cache_size = -{CACHE_KIBIBYTES}")
    return connection


def _usable_hermes_layout(connection: sqlite3.Connection) -> DatabaseLayout | None:
    """Return the layout of a Hermes database, without the indexes that cannot be queried."""
    layout = hermes_layout(connection)
    if layout is None:
        return None
    word_index, trigram_index = layout.word_index, layout.trigram_index
    return replace(
        layout,
        word_index=word_index if _is_index_usable(connection, word_index) else None,
        trigram_index=trigram_index if _is_index_usable(connection, trigram_index) else None,
    )


def _is_index_usable(connection: sqlite3.Connection, index: str | None) -> bool:
    """Whether an index can be queried: it may need a tokenizer this SQLite lacks."""
    if index is None:
        return False
    try:
        connection.execute(
            f"SELECT rowid FROM {index} WHERE {index} MATCH '\"abc\"' LIMIT 1"  # noqa: S608 - names of ours
        ).fetchall()
    except sqlite3.Error:
        return False
    return True
