"""Copies the rows of one session from one database to another.

The databases may have different versions: only the columns that both have are copied.
"""

from collections.abc import Iterator, Mapping, Sequence
from sqlite3 import Connection

from acp_server.history.rows import Row
from acp_server.startup.fast_dataclass import frozen_dataclass

SESSION_COLUMNS: Mapping[str, str] = {
    "sessions": "id",
    "prompts": "session_id",
    "entries": "session_id",
    "output": "session_id",
    "messages": "session_id",
    "texts": "session_id",
}
"""The tables that hold sessions, in the order in which rows may be written, and the column with the
session's id. Leases are not copied: the process that copies takes the session over."""


@frozen_dataclass
class TableRows:
    """Rows of one table."""

    table: str
    columns: tuple[str, ...]
    rows: Sequence[Row]


def read_session(connection: Connection, session_id: str) -> Sequence[TableRows]:
    """Return all rows of a session; the first table is empty if there is no such session."""
    return tuple(_read(connection, session_id))


def write_rows(connection: Connection, found: TableRows) -> None:
    """Insert rows; those whose key is there already stay as they are."""
    # A text's number is only unique in its own database: the index gives it a new one.
    omitted = {"id"} if found.table == "texts" else set[str]()
    known = set(column_names(connection, found.table)) - omitted
    kept = [index for index, name in enumerate(found.columns) if name in known]
    names = ", ".join(found.columns[index] for index in kept)
    values = ", ".join("?" * len(kept))
    connection.executemany(
        f"INSERT OR IGNORE INTO {found.table} ({names}) VALUES ({values})",  # noqa: S608 - names of ours
        [[row[index] for index in kept] for row in found.rows],
    )


def column_names(connection: Connection, table: str) -> Sequence[str]:
    """Return the names of a table's columns."""
    return [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]


def _read(connection: Connection, session_id: str) -> Iterator[TableRows]:
    for table, column in SESSION_COLUMNS.items():
        cursor = connection.execute(
            f"SELECT * FROM {table} WHERE {column} = ?",  # noqa: S608 - names of ours
            (session_id,),
        )
        names = tuple(each[0] for each in cursor.description)
        yield TableRows(table, names, cursor.fetchall())
