"""The searchable texts of each session, and the full-text indexes over them.

Owns the tables whose names start with `texts`. A text survives the compaction of its conversation
and is deleted with its session. Knows nothing of queries (`index_queries`, `search`) or of replay.
The indexes store no text: to remove an entry, FTS5 needs exactly the text that was indexed, so a
text never changes once it is stored.
"""

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from sqlite3 import Connection
from typing import assert_never

from pydantic import JsonValue

from acp_server.history.cjk_tokens import to_index_text
from acp_server.history.rows import time_to_column
from acp_server.session.ports.session_search import ROLES, Role
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.surrogates import repair_surrogates
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    ProviderBlock,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
    parse_arguments,
    prompt_to_text,
    shorten_attachment,
)

MAX_MESSAGE_CHARACTERS = 20_000
"""Stored length of a message for searches, in characters."""
MAX_ATTACHMENT_CHARACTERS = 4_000
MAX_TOOL_CHARACTERS = 2_000
"""Stored length of a call's arguments or its result for searches, in characters."""

SCHEMA: tuple[str, ...] = (
    # AUTOINCREMENT never reuses an id: it marks which texts are indexed, and models quote it.
    """
    CREATE TABLE texts (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        session_id TEXT NOT NULL,
        role TEXT NOT NULL,
        at_us INTEGER NOT NULL,
        text TEXT NOT NULL
    )
    """,
    "CREATE INDEX texts_of_session ON texts (session_id)",
    "CREATE TABLE texts_indexed (last_id INTEGER NOT NULL)",
    "INSERT INTO texts_indexed VALUES (0)",
    """
    CREATE VIRTUAL TABLE texts_words USING fts5 (
        user, assistant, tool, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2'
    )
    """,
    # detail=none stores which trigrams a text has, not where, in far less space. Whether they are
    # adjacent is checked in the text itself.
    """
    CREATE VIRTUAL TABLE texts_threes USING fts5 (
        text, content='', detail=none, columnsize=0, tokenize='trigram'
    )
    """,
)


@frozen_dataclass
class _TextIndex:
    """A full-text index: its table, and the values of its columns for a text."""

    table: str
    columns: tuple[str, ...]
    values: Callable[[str, str], tuple[str, ...]]
    """Takes a role and a text."""


def add_message_texts(
    connection: Connection, session_id: str, timestamp: datetime, message: Message
) -> None:
    """Store the texts of a message. No search finds them before `index_pending`."""
    connection.executemany(
        "INSERT INTO texts (session_id, role, at_us, text) VALUES (?, ?, ?, ?)",
        [
            (session_id, role, time_to_column(timestamp), clean)
            for role, text in _message_texts(message)
            if (clean := repair_surrogates(text).replace("\0", " ")).strip()
        ],
    )


def index_pending(connection: Connection) -> None:
    """Index every text added since the last call."""
    rows: list[tuple[int, str, str]] = connection.execute(
        "SELECT id, role, text FROM texts WHERE id > (SELECT last_id FROM texts_indexed)"
    ).fetchall()
    if not rows:
        return
    for index in _INDEXES:
        _write_index(connection, index, rows, is_deletion=False)
    connection.execute("UPDATE texts_indexed SET last_id = ?", (max(row[0] for row in rows),))


def delete_texts(connection: Connection, session_id: str) -> None:
    """Delete the texts of a session."""
    rows: list[tuple[int, str, str]] = connection.execute(
        "SELECT id, role, text FROM texts"
        # Removing a text that was never added would corrupt the index.
        " WHERE session_id = ? AND id <= (SELECT last_id FROM texts_indexed)",
        (session_id,),
    ).fetchall()
    for index in _INDEXES:
        _write_index(connection, index, rows, is_deletion=True)
    connection.execute("DELETE FROM texts WHERE session_id = ?", (session_id,))


def _write_index(
    connection: Connection,
    index: _TextIndex,
    rows: list[tuple[int, str, str]],
    *,
    is_deletion: bool,
) -> None:
    """Add texts to an index, or remove them."""
    columns = ("rowid", *index.columns)
    # FTS5's 'delete' command: the table's own name is a column, followed by the indexed values.
    command = (index.table,) if is_deletion else ()
    names = ", ".join((*command, *columns))
    values = ", ".join(["'delete'"] * len(command) + ["?"] * len(columns))
    connection.executemany(
        f"INSERT INTO {index.table} ({names}) VALUES ({values})",  # noqa: S608 - names of ours
        [(row_id, *found) for row_id, role, text in rows if any(found := index.values(role, text))],
    )


def _word_columns(role: str, text: str) -> tuple[str, ...]:
    return tuple(to_index_text(text) if role == each else "" for each in ROLES)


_INDEXES = (
    _TextIndex("texts_words", ROLES, _word_columns),
    _TextIndex("texts_threes", ("text",), lambda _, text: (text,)),
)


def _message_texts(message: Message) -> Iterator[tuple[Role, str]]:
    """Return the texts of a message by role; reasoning and call ids are not searchable."""
    match message:
        case UserMessage():
            prompt = [
                shorten_attachment(part, MAX_ATTACHMENT_CHARACTERS)
                for part in message.parts
                if not isinstance(part, ToolResult)
            ]
            yield "user", prompt_to_text(prompt)[:MAX_MESSAGE_CHARACTERS]
            for part in message.parts:
                if isinstance(part, ToolResult):
                    yield "tool", _without_middle(part.text)
        case AssistantMessage():
            text = "".join(
                part.text for part in message.parts if isinstance(part, Text | ProviderBlock)
            )
            yield "assistant", text[:MAX_MESSAGE_CHARACTERS]
            for part in message.parts:
                if isinstance(part, ToolCall):
                    yield "tool", _without_middle(f"{part.name} {_argument_texts(part)}")
        case _:
            assert_never(message)


def _without_middle(text: str) -> str:
    """Return a long text without its middle: the cause of a failure is often in its last lines."""
    if len(text) <= MAX_TOOL_CHARACTERS:
        return text
    tail = MAX_TOOL_CHARACTERS // 4
    return f"{text[: MAX_TOOL_CHARACTERS - tail]}\n…\n{text[-tail:]}"


def _argument_texts(call: ToolCall) -> str:
    """Return the strings in a call's arguments, without JSON syntax."""
    try:
        return "\n".join(_strings(parse_arguments(call)))
    except ValueError:
        return call.arguments


def _strings(value: JsonValue) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict() | list():
            inner = value.values() if isinstance(value, dict) else value
            for each in inner:
                yield from _strings(each)
        case None:
            pass
        case _:
            yield json.dumps(value)
