"""How the databases are read in which past texts stand: our own, and the one that Hermes keeps.

Knows tables and columns, and nothing of queries. Of Hermes' database several versions are about:
what a column is for is looked up by its name, and where one is missing, one does without.
"""

import json
from collections.abc import Callable
from sqlite3 import Connection
from typing import cast

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.session.recall import Source


@frozen
class Layout:
    """How one kind of database is read."""

    source: Source
    texts: str
    """A table, or a query in brackets: id, session_id, role, at, text."""
    sessions: str
    """Likewise: id, title, cwd, began, updated."""
    ticks_per_second: int
    """In what times are counted, from 1970 on."""
    words: str | None
    """The index of words, if there is one; its rows have the ids of the texts."""
    threes: str | None
    """The index of all threes of characters that stand side by side, likewise."""
    is_ours: bool
    """Whether the index of words has a column for each role, and Chinese in pairs (`spelling`)."""
    readable: Callable[[str], str]
    """Makes a text of what stands in the column."""


OUR_LAYOUT = Layout(
    source="acp-server",
    texts="(SELECT id, session_id, role, at_us AS at, text FROM texts)",
    sessions="(SELECT id, title, cwd, created_us AS began, updated_us AS updated FROM sessions)",
    ticks_per_second=1_000_000,
    words="texts_words",
    threes="texts_threes",
    is_ours=True,
    readable=str,
)

_HIDDEN = "('tool', 'subagent', 'kanban')"
"""Where a session comes from that no person had."""
_JSON_MARK = "\0json:"
"""With this Hermes begins a content that has several parts."""


def hermes_layout(connection: Connection) -> Layout | None:
    """Return how this database of Hermes is read; None if it is none that is known here."""
    messages = _columns(connection, "messages")
    sessions = _columns(connection, "sessions")
    if not messages >= {"id", "session_id", "role", "content", "timestamp"}:
        return None
    if not sessions >= {"id", "source", "started_at"}:
        return None
    return Layout(
        source="hermes",
        texts=_hermes_texts(messages),
        sessions=_hermes_sessions(sessions),
        ticks_per_second=1,
        words="messages_fts" if _columns(connection, "messages_fts") else None,
        threes=_trigrams(connection),
        is_ours=False,
        readable=_readable,
    )


def _hermes_texts(columns: set[str]) -> str:
    calls = "tool_calls" if "tool_calls" in columns else "NULL"
    # A row that was taken back is not active; one that was summed up is not either, but was said.
    is_there = "active = 1" if "active" in columns else "TRUE"
    was_summed_up = "compacted = 1" if "compacted" in columns else "FALSE"
    return (
        "(SELECT id, session_id, role, timestamp AS at,"  # noqa: S608 - names of ours
        f" coalesce(nullif(content, ''), {calls}, '') AS text FROM messages"
        f" WHERE role IN ('user', 'assistant', 'tool') AND ({is_there} OR {was_summed_up})"
        f" AND session_id NOT IN (SELECT id FROM sessions WHERE source IN {_HIDDEN}))"
    )


def _hermes_sessions(columns: set[str]) -> str:
    title = "title" if "title" in columns else "NULL"
    cwd = "cwd" if "cwd" in columns else "NULL"
    ended = [name for name in ("last_activity_at", "ended_at") if name in columns]
    updated = f"coalesce({', '.join([*ended, 'started_at', '0'])})"
    return (
        f"(SELECT id, coalesce({title}, '') AS title, coalesce({cwd}, '') AS cwd,"  # noqa: S608 - names of ours
        f" started_at AS began, {updated} AS updated FROM sessions WHERE source NOT IN {_HIDDEN})"
    )


def _trigrams(connection: Connection) -> str | None:
    name = "messages_fts_trigram"
    return name if _columns(connection, name) else None


def _columns(connection: Connection, table: str) -> set[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return {name for (name,) in cast("list[tuple[str]]", rows.fetchall())}


def _readable(content: str) -> str:
    """Return the texts among the parts of a content."""
    if not content.startswith(_JSON_MARK):
        return content
    try:
        parts: JsonValue = json.loads(content.removeprefix(_JSON_MARK))
    except (ValueError, RecursionError):
        return content.removeprefix(_JSON_MARK)
    if not isinstance(parts, list):
        return ""
    found = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in found if isinstance(text, str))
