"""How to read the databases of past texts: this server's own, and the one of Hermes.

Knows tables and columns, not queries. Several versions of Hermes' database exist: columns are
looked up by name, and missing ones are substituted.
"""

import json
from collections.abc import Callable
from sqlite3 import Connection
from typing import cast

from pydantic import JsonValue

from acp_server.session.ports.session_search import SessionSource
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class DatabaseLayout:
    """How one kind of database is read."""

    source: SessionSource
    texts: str
    """A table, or a query in parentheses: id, session_id, role, at, text."""
    sessions: str
    """Likewise: id, title, cwd, began, updated."""
    ticks_per_second: int
    """The unit of its times, which count from 1970."""
    word_index: str | None
    """The word index, if there is one; its row ids are those of the texts."""
    trigram_index: str | None
    """The trigram index, likewise."""
    is_own: bool
    """Whether the word index has a column for each role, and CJK text in pairs (`cjk_tokens`)."""
    to_text: Callable[[str], str]
    """Converts a column's value to text."""


OWN_LAYOUT = DatabaseLayout(
    source="acp-server",
    texts="(SELECT id, session_id, role, at_us AS at, text FROM texts)",
    sessions="(SELECT id, title, cwd, created_us AS began, updated_us AS updated FROM sessions)",
    ticks_per_second=1_000_000,
    word_index="texts_words",
    trigram_index="texts_threes",
    is_own=True,
    to_text=str,
)

_HIDDEN_SOURCES = "('tool', 'subagent', 'kanban')"
"""Sources of sessions that no person took part in."""
_JSON_PREFIX = "\0json:"
"""The prefix of a content with several parts in Hermes' database."""


def hermes_layout(connection: Connection) -> DatabaseLayout | None:
    """Return the layout of a Hermes database, or None if it is unknown."""
    messages = column_names(connection, "messages")
    sessions = column_names(connection, "sessions")
    if not messages >= {"id", "session_id", "role", "content", "timestamp"}:
        return None
    if not sessions >= {"id", "source", "started_at"}:
        return None
    trigram_index = "messages_fts_trigram"
    return DatabaseLayout(
        source="hermes",
        texts=_hermes_texts(messages),
        sessions=_hermes_sessions(sessions),
        ticks_per_second=1,
        word_index="messages_fts" if column_names(connection, "messages_fts") else None,
        trigram_index=trigram_index if column_names(connection, trigram_index) else None,
        is_own=False,
        to_text=decode_content,
    )


def _hermes_texts(columns: set[str]) -> str:
    calls = "tool_calls" if "tool_calls" in columns else "NULL"
    # Inactive rows were undone, or compacted away; compacted ones were part of the conversation.
    is_active = "active = 1" if "active" in columns else "TRUE"  # added in a later version
    is_compacted = "compacted = 1" if "compacted" in columns else "FALSE"
    return (
        "(SELECT id, session_id, role, timestamp AS at,"  # noqa: S608 - names of ours
        f" coalesce(nullif(content, ''), {calls}, '') AS text FROM messages"
        f" WHERE role IN ('user', 'assistant', 'tool') AND ({is_active} OR {is_compacted})"
        f" AND session_id NOT IN (SELECT id FROM sessions WHERE source IN {_HIDDEN_SOURCES}))"
    )


def _hermes_sessions(columns: set[str]) -> str:
    title = "title" if "title" in columns else "NULL"
    cwd = "cwd" if "cwd" in columns else "NULL"
    ended = [name for name in ("last_activity_at", "ended_at") if name in columns]
    updated = f"coalesce({', '.join([*ended, 'started_at', '0'])})"
    return (
        f"(SELECT id, coalesce({title}, '') AS title, coalesce({cwd}, '') AS cwd,"  # noqa: S608 - names of ours
        f" started_at AS began, {updated} AS updated FROM sessions"
        f" WHERE source NOT IN {_HIDDEN_SOURCES})"
    )


def column_names(connection: Connection, table: str) -> set[str]:
    """Return the columns of a table; none if it does not exist."""
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {name for (name,) in cast("list[tuple[str]]", rows.fetchall())}


def decode_content(content: str) -> str:
    """Return the text parts of a content in Hermes' database."""
    if not content.startswith(_JSON_PREFIX):
        return content
    try:
        parts: JsonValue = json.loads(content.removeprefix(_JSON_PREFIX))
    except (ValueError, RecursionError):
        return content.removeprefix(_JSON_PREFIX)
    if not isinstance(parts, list):
        return ""
    found = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in found if isinstance(text, str))
