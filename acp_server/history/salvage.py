"""Copies what can be read of a damaged database into the current one, in small steps.

Each table is read in ranges of rows, and a range that cannot be read is halved until only the
damaged rows are left out. The damaged file is only read. SQLite's own `.recover` finds no more,
unless the upper pages of a table are damaged, and Debian's program is built without it.
"""

import logging
import sqlite3
from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from sqlite3 import Connection
from typing import cast

from acp_server.history.rows import Row
from acp_server.history.session_copy import SESSION_COLUMNS, TableRows, column_names, write_rows

logger = logging.getLogger(__name__)

BATCH_ROWS = 200
"""Rows of one step."""
MAX_ROW_ID = 2**40
MAX_UNREADABLE_RANGES = 20_000
"""After so many errors the rest of a table is given up: its upper pages are damaged."""
SALVAGED_TITLE = "Salvaged session"
_ADD_SESSION = """
    INSERT OR IGNORE INTO sessions (id, cwd, additional, created_us, updated_us, title, mode,
    input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens,
    requests, context_tokens) VALUES (?, '/', '[]', ?, ?, ?, 'ask', 0, 0, 0, 0, 0, 0, 0)
"""
# A conversation with a hole is none that a model can continue: what follows the hole is only shown.
_DROP_BEHIND_HOLE = """
    DELETE FROM messages WHERE session_id = ?1 AND seq >= (
        SELECT min(hole) FROM (SELECT 0 AS hole UNION ALL
        SELECT seq + 1 FROM messages WHERE session_id = ?1)
        WHERE hole NOT IN (SELECT seq FROM messages WHERE session_id = ?1)
    )
"""


class Salvage:
    """Copies the sessions of one damaged file."""

    def __init__(self, damaged: Path) -> None:
        """Prepare without reading."""
        self.damaged = damaged
        self.session_ids: set[str] = set()
        """The sessions of which something was found."""
        self._batches = self._read()

    def step(self, connection: Connection, open_ids: Collection[str], now_us: int) -> bool:
        """Copy some more rows, except those of open sessions; return False at the end."""
        batch = next(self._batches, None)
        if batch is not None:
            self._write(connection, batch, open_ids, now_us)
            return True
        for session_id in self.session_ids:
            connection.execute(_DROP_BEHIND_HOLE, (session_id,))
        return False

    def close(self) -> None:
        """End, also before the end."""
        self._batches.close()

    def _write(
        self, connection: Connection, batch: TableRows, open_ids: Collection[str], now_us: int
    ) -> None:
        column = batch.columns.index(SESSION_COLUMNS[batch.table])
        rows = [row for row in batch.rows if row[column] not in open_ids]
        if batch.table != "sessions":
            # The row of its session may be lost; without one its conversation could not be kept.
            facts = [(row[column], now_us, now_us, SALVAGED_TITLE) for row in rows]
            connection.executemany(_ADD_SESSION, list(dict.fromkeys(facts)))
        write_rows(connection, TableRows(batch.table, batch.columns, rows))
        self.session_ids |= {cast("str", row[column]) for row in rows}

    def _read(self) -> Generator[TableRows]:
        with closing(_open_for_reading(self.damaged)) as connection:
            yield from _all_rows(connection)


def _open_for_reading(path: Path) -> Connection:
    # Without a log, SQLite would create one beside the file.
    has_log = path.with_name(f"{path.name}-wal").exists()
    options = "mode=ro" if has_log else "mode=ro&immutable=1"
    return sqlite3.connect(f"{path.as_uri()}?{options}", uri=True, isolation_level=None)


def _all_rows(connection: Connection) -> Iterator[TableRows]:
    """Yield all rows that can be read, table by table."""
    for table in SESSION_COLUMNS:
        try:
            columns = tuple(column_names(connection, table))
        except sqlite3.Error as error:
            logger.warning("nothing can be read of %s: %s", table, error)
            continue
        found = _keyed_rows if table == "sessions" else _numbered_rows
        for rows in found(connection, table):
            yield TableRows(table, columns, rows)


def _keyed_rows(connection: Connection, table: str) -> Iterator[Sequence[Row]]:
    """Yield the rows of a table without row numbers: from both ends, up to what is damaged."""
    for order in ("ASC", "DESC"):
        try:
            cursor = connection.execute(
                f"SELECT * FROM {table} ORDER BY {SESSION_COLUMNS[table]} {order}"  # noqa: S608 - names of ours
            )
            while rows := cursor.fetchmany(BATCH_ROWS):
                yield rows
        except sqlite3.Error as error:
            logger.warning("some rows of %s cannot be read: %s", table, error)
        else:
            return


def _numbered_rows(connection: Connection, table: str) -> Iterator[Sequence[Row]]:
    """Yield the rows of a table in the order of their numbers, without damaged ones."""
    query = (
        f"SELECT rowid, * FROM {table} WHERE rowid BETWEEN ? AND ?"  # noqa: S608 - names of ours
        f" ORDER BY rowid LIMIT {BATCH_ROWS}"
    )
    ranges, failures = [(0, MAX_ROW_ID)], 0
    while ranges and failures < MAX_UNREADABLE_RANGES:
        first, last = ranges.pop()
        try:
            rows: list[Row] = connection.execute(query, (first, last)).fetchall()
        except sqlite3.Error:
            failures += 1
            middle = (first + last) // 2
            if first < last:
                ranges += [(middle + 1, last), (first, middle)]
            continue
        if rows:
            yield [row[1:] for row in rows]
            ranges.append((cast("int", rows[-1][0]) + 1, last))
