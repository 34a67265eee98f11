"""Long histories made by copying sessions within an agent's own store.

Playing 1,500 turns with each agent would take hours. So a few turns are played and their stored
records are duplicated under new ids. For an agent whose store format is unknown here, all turns are
played.
"""

import json
import re
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol, cast

from pydantic import JsonValue

GENERATED_ID = re.compile(r"\b((?:toolu|msg|call)_(?!id\b)[0-9A-Za-z]+)")
"""Matches an id, but not the key `call_id`, without which a copy would be unreadable."""
Line = dict[str, JsonValue]
Row = dict[str, str | int | float | None]


class AgentSessionStore(Protocol):
    """Session store of an agent."""

    def lengthen(self, home: Path, session: str, times: int) -> None:
        """Make a session this many times as long."""
        ...

    def multiply(self, home: Path, session: str, count: int) -> None:
        """Add this many copies of the session."""
        ...


def replace_ids(text: str, copy: object) -> str:
    """Return a text with new message and call ids for a copy."""
    return GENERATED_ID.sub(rf"\1c{copy}", text)


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [str(row[1]) for row in connection.execute(f"PRAGMA table_info({table})")]


def _rows(connection: sqlite3.Connection, table: str, key: str, value: str) -> list[Row]:
    names = _columns(connection, table)
    found = connection.execute(f"SELECT * FROM {table} WHERE {key} = ?", (value,))  # noqa: S608
    return [dict(zip(names, row, strict=True)) for row in found]


def _insert(connection: sqlite3.Connection, table: str, rows: Sequence[Row]) -> None:
    for row in rows:
        marks = ", ".join("?" * len(row))
        statement = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})"  # noqa: S608
        connection.execute(statement, [*row.values()])


class SqliteSessionStore:
    """SQLite database with a session table and tables of rows per session."""

    def __init__(self, path: str, tables: Mapping[str, Sequence[str]], numbered: str = "") -> None:
        self._path = path
        self._tables = tables
        """Row tables, each with the columns that count through a session."""
        self._numbered = numbered
        """Column that the database numbers by itself."""

    def lengthen(self, home: Path, session: str, times: int) -> None:
        """Append copies of the session's rows."""
        with closing(sqlite3.connect(home / self._path)) as connection, connection:
            for table, counted in self._tables.items():
                rows = _rows(connection, table, "session_id", session)
                for copy in range(1, times):
                    moved = [self._shift_counters(row, rows, counted, copy) for row in rows]
                    _insert(connection, table, moved)
            if "message_count" in _columns(connection, "sessions"):
                statement = "UPDATE sessions SET message_count = message_count * ? WHERE id = ?"
                connection.execute(statement, (times, session))

    def multiply(self, home: Path, session: str, count: int) -> None:
        """Write copies of the session under other ids."""
        with closing(sqlite3.connect(home / self._path)) as connection, connection:
            head = _rows(connection, "sessions", "id", session)[0]
            title = head.get("title")
            for copy in range(count):
                name = str(uuid.UUID(int=copy + 1))
                title_fields = {"title": f"{title} {copy}"} if title else {}
                _insert(connection, "sessions", [{**head, "id": name, **title_fields}])
                for table in self._tables:
                    rows = _rows(connection, table, "session_id", session)
                    copied = [self._replace_row_ids(row, copy) for row in rows]
                    _insert(connection, table, [{**row, "session_id": name} for row in copied])

    def _shift_counters(
        self, row: Row, rows: Sequence[Row], counted: Sequence[str], copy: int
    ) -> Row:
        moved = self._replace_row_ids(row, copy)
        for column in counted:
            span = max(cast("int", each[column]) for each in rows) + 1
            moved[column] = cast("int", row[column]) + span * copy
        return moved

    def _replace_row_ids(self, row: Row, copy: int) -> Row:
        return {
            name: replace_ids(value, copy) if isinstance(value, str) else value
            for name, value in row.items()
            if name != self._numbered
        }


class JsonLinesSessionStore:
    """One file of JSON lines per session, where each line names its predecessor."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def lengthen(self, home: Path, session: str, times: int) -> None:
        """Append copies of the lines, each chained to the previous copy."""
        path = self._file(home, session)
        lines = [cast("Line", json.loads(line)) for line in path.read_text().splitlines()]
        chained = [line for line in lines if line.get("uuid")]
        last = str(chained[-1]["uuid"])
        with path.open("a", encoding="utf-8") as file:
            for copy in range(1, times):
                for line in _chain_lines(chained, last, copy):
                    file.write(replace_ids(json.dumps(line), copy) + "\n")
                    last = str(line["uuid"])

    def multiply(self, home: Path, session: str, count: int) -> None:
        """Write copies of the file under other names."""
        path = self._file(home, session)
        text = path.read_text(encoding="utf-8")
        for copy in range(count):
            name = str(uuid.UUID(int=copy + 1, version=4))
            made = replace_ids(text, copy).replace(session, name)
            path.with_name(f"{name}.jsonl").write_text(made, encoding="utf-8")

    def _file(self, home: Path, session: str) -> Path:
        (path,) = (home / self._folder).glob(f"*/{session}.jsonl")
        return path


def _chain_lines(lines: Sequence[Line], last: str, copy: int) -> Iterator[Line]:
    """Yield the lines under new ids, the first chained to `last`."""
    names = {str(line["uuid"]): str(uuid.uuid4()) for line in lines}
    for line in lines:
        before = str(line.get("parentUuid"))
        yield {
            **line,
            "uuid": names[str(line["uuid"])],
            "parentUuid": names.get(before, last),
            "promptId": f"{line.get('promptId')}{copy}",
        }


STORES: Mapping[str, AgentSessionStore] = {
    "acp-server": SqliteSessionStore(
        "acp/sessions.db", {"entries": ["seq"], "messages": ["seq", "after_entry"]}
    ),
    "hermes": SqliteSessionStore(".hermes/state.db", {"messages": []}, numbered="id"),
    "claude": JsonLinesSessionStore(".claude/projects"),
}
