"""Databases of past sessions, written by this server or as by Hermes."""

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypedDict

from typing_extensions import Unpack

from acp_server.history import text_index
from acp_server.history.schema import MIGRATIONS
from acp_server.history.search import PastSessions
from acp_server.history.search_databases import DatabasePaths
from acp_server.session.ports.session_search import Role, SessionQuery, SessionSearchResults, Sort
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    ReplyPart,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)

FIRST_DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


def user(text: str) -> Message:
    return UserMessage((Text(text),))


def assistant(text: str, *calls: ToolCall) -> Message:
    parts: tuple[ReplyPart, ...] = (Text(text), *calls)
    return AssistantMessage(parts)


def results(*texts: str) -> Message:
    return UserMessage(tuple(ToolResult(f"call-{n}", each) for n, each in enumerate(texts)))


class SearchOptions(TypedDict, total=False):
    """Optional arguments of a search."""

    limit: int
    sort: Sort
    roles: tuple[Role, ...]
    excluded_id: str | None


@dataclass(frozen=True, slots=True)
class SessionHome:
    """Directory with session databases."""

    directory: Path

    @property
    def database_paths(self) -> DatabasePaths:
        return DatabasePaths(self.directory / "sessions.db", self.directory / "state.db")

    @property
    def past_sessions(self) -> PastSessions:
        return PastSessions(self.database_paths)

    @property
    def has_files(self) -> bool:
        return any(self.directory.iterdir())

    def save_session(
        self, session_id: str, *messages: Message, day: int = 0, is_indexed: bool = True
    ) -> None:
        """Store a session of the given day; its messages are a minute apart."""
        began = FIRST_DAY + timedelta(days=day)
        with closing(open_database(self.database_paths.own)) as connection, connection:
            insert_session(connection, session_id, began, began + timedelta(minutes=len(messages)))
            for number, message in enumerate(messages):
                text_index.add_message_texts(
                    connection, session_id, began + timedelta(minutes=number), message
                )
            if is_indexed:
                text_index.index_pending(connection)

    def delete_session(self, session_id: str) -> None:
        with closing(open_database(self.database_paths.own)) as connection, connection:
            text_index.delete_texts(connection, session_id)
            connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))

    async def find(
        self,
        query: str,
        *,
        limit: int = 10,
        sort: Sort = "relevance",
        roles: tuple[Role, ...] = (),
        excluded_id: str | None = None,
    ) -> SessionSearchResults:
        return await self.past_sessions.search(SessionQuery(query, limit, sort, roles, excluded_id))

    async def find_ids(self, query: str, **options: Unpack[SearchOptions]) -> list[str]:
        return [hit.session.id for hit in (await self.find(query, **options)).hits]


def open_database(path: Path) -> sqlite3.Connection:
    """Open a session database, creating its tables if necessary."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")
    if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
        for statement in (each for migration in MIGRATIONS for each in migration):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.commit()
    return connection


def insert_session(
    connection: sqlite3.Connection, session_id: str, began: datetime, updated: datetime
) -> None:
    """Insert the row of a session."""
    row = {
        "id": session_id,
        "cwd": "/code",
        "additional": "[]",
        "created_us": int(began.timestamp()) * 1_000_000,
        "updated_us": int(updated.timestamp()) * 1_000_000,
        "title": f"title of {session_id}",
        "mode": "ask",
        **dict.fromkeys(
            (
                "input_tokens",
                "output_tokens",
                "cache_read_tokens",
                "cache_write_5m_tokens",
                "cache_write_1h_tokens",
                "requests",
                "context_tokens",
            ),
            0,
        ),
    }
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO sessions ({names}) VALUES ({marks})", tuple(row.values()))  # noqa: S608


HERMES_OLD_SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, started_at REAL NOT NULL,
    ended_at REAL);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
    role TEXT NOT NULL, content TEXT, tool_calls TEXT, timestamp REAL NOT NULL);
CREATE VIRTUAL TABLE messages_fts USING fts5(content, content=messages, content_rowid=id);
CREATE TRIGGER inserted AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts(rowid, content) VALUES (new.id, new.content); END;
"""
HERMES_NEW_SCHEMA = """
CREATE TABLE sessions (id TEXT PRIMARY KEY, source TEXT NOT NULL, title TEXT, cwd TEXT,
    started_at REAL NOT NULL, ended_at REAL, last_activity_at REAL);
CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL,
    role TEXT NOT NULL, content TEXT, tool_name TEXT, tool_calls TEXT, timestamp REAL NOT NULL,
    active INTEGER NOT NULL DEFAULT 1, compacted INTEGER NOT NULL DEFAULT 0);
CREATE VIRTUAL TABLE messages_fts USING fts5(content, tool_name, tool_calls,
    content='messages', content_rowid='id');
CREATE VIEW source AS SELECT id, content FROM messages WHERE role <> 'tool';
CREATE VIRTUAL TABLE messages_fts_trigram USING fts5(content, content='source',
    content_rowid='id', tokenize='trigram');
CREATE TRIGGER inserted AFTER INSERT ON messages BEGIN
    INSERT INTO messages_fts(rowid, content, tool_name, tool_calls)
        VALUES (new.id, new.content, new.tool_name, new.tool_calls);
    INSERT INTO messages_fts_trigram(rowid, content) SELECT new.id, new.content
        WHERE new.role <> 'tool'; END;
"""


def write_hermes_database(
    path: Path,
    messages: Sequence[tuple[str, str]],
    schema: str = HERMES_NEW_SCHEMA,
    session_id: str = "hermes-1",
    source: str = "cli",
) -> None:
    """Write a database as Hermes does, with one session of (role, content) messages."""
    began = FIRST_DAY.timestamp()
    with closing(sqlite3.connect(path)) as connection, connection:
        if not connection.execute("SELECT 1 FROM sqlite_master").fetchall():
            connection.executescript(schema)
        connection.execute(
            "INSERT INTO sessions (id, source, started_at) VALUES (?, ?, ?)",
            (session_id, source, began),
        )
        connection.executemany(
            "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, ?, ?, ?)",
            [(session_id, *each, began + number) for number, each in enumerate(messages)],
        )


def encode_parts(*texts: str) -> str:
    """Encode a multi-part content as Hermes does."""
    return "\0json:" + json.dumps([{"type": "text", "text": each} for each in texts])
