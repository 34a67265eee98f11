"""Writes the rows of conversations and of the history shown to the user.

Knows the tables `entries`, `output` and `messages`; `session_rows` decides when a row is written.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from sqlite3 import Connection
from typing import cast

from acp_server.history import text_index
from acp_server.history.codec import UnreadableRecordError, decode, encode
from acp_server.history.rows import Column, Row, text_from_column, text_to_column
from acp_server.session.ports.archive import CallRecord
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Message

logger = logging.getLogger(__name__)

Write = Callable[[Connection], object]
"""Writes rows, inside a transaction."""

MESSAGE, THOUGHT, SUMMARY = "message", "thought", "summary"
"""Kinds of entries whose body is a chunk of a text."""
IS_EMPTY_SQL = (
    "NOT EXISTS (SELECT 1 FROM messages WHERE session_id = {0})"
    " AND NOT EXISTS (SELECT 1 FROM entries WHERE session_id = {0} AND kind = 'PromptReceived')"
)
"""SQL: whether the session id in place of the braces has no prompt, not even a slash command."""
OPEN_CALL, CALL = "open call", "call"
"""Kinds of entries that are one call; an open one may still change."""


@frozen_dataclass
class MessageRow:
    """A message, the entry it follows, and its time."""

    seq: int
    after_entry: int
    body: str
    at: datetime
    message: Message


@dataclass(slots=True)
class TrackedCall:
    """A call: its entry number, and its current record unless that was released."""

    entry: int
    record: CallRecord | None = None
    output_chunks: deque[tuple[int, int]] | None = None
    """The number and length of each chunk of output; None without output, as of most calls: an
    empty deque takes 0.6 kB, and calls are tracked as long as their session is open."""


def save_entry(connection: Connection, row: Row) -> None:
    """Write an entry: its session, number, kind, reference and body."""
    connection.execute(
        # A conflict is a call that changed: its row is rewritten at its place in the history.
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?) ON CONFLICT (session_id, seq)"
        " DO UPDATE SET kind = excluded.kind, body = excluded.body",
        row,
    )


def merge_chunk_rows(connection: Connection, session_id: str, first: int) -> None:
    """Merge the chunks of each text into one row, starting at an entry."""
    # Without the texts: of a long session, none or few are in several rows.
    split: list[tuple[str, Column]] = connection.execute(
        "SELECT kind, ref FROM entries WHERE session_id = ? AND seq >= ? AND kind IN (?, ?, ?)"
        " GROUP BY kind, ref HAVING count(*) > 1",
        (session_id, first, MESSAGE, THOUGHT, SUMMARY),
    ).fetchall()
    for kind, ref in split:
        pieces: list[tuple[int, Column]] = connection.execute(
            "SELECT seq, body FROM entries WHERE session_id = ? AND seq >= ? AND kind = ?"
            " AND ref = ? ORDER BY seq",
            (session_id, first, kind, ref),
        ).fetchall()
        body = text_to_column("".join(text_from_column(piece[1]) for piece in pieces))
        connection.execute(
            "UPDATE entries SET body = ? WHERE session_id = ? AND seq = ?",
            (body, session_id, pieces[0][0]),
        )
        connection.executemany(
            "DELETE FROM entries WHERE session_id = ? AND seq = ?",
            [(session_id, piece[0]) for piece in pieces[1:]],
        )


def save_output(connection: Connection, session_id: str, entry: int, row: tuple[int, str]) -> None:
    """Write a chunk of command output: its number and its text."""
    number, data = row
    connection.execute(
        "INSERT INTO output VALUES (?, ?, ?, ?)", (session_id, entry, number, text_to_column(data))
    )


def drop_output(connection: Connection, session_id: str, entry: int, before: int) -> None:
    """Delete the chunks before a number."""
    connection.execute(
        "DELETE FROM output WHERE session_id = ? AND entry = ? AND seq < ?",
        (session_id, entry, before),
    )


def add_message(connection: Connection, session_id: str, row: MessageRow) -> None:
    """Append a message, and its texts for the search."""
    _insert_message(connection, session_id, row)
    text_index.add_message_texts(connection, session_id, row.at, row.message)


def replace_messages(connection: Connection, session_id: str, rows: Sequence[MessageRow]) -> None:
    """Replace all messages. Searches still find the replaced ones."""
    connection.execute("DELETE FROM messages WHERE session_id = ?", (session_id,))
    for row in rows:
        _insert_message(connection, session_id, row)


def delete_session(connection: Connection, session_id: str) -> None:
    """Delete a session and its texts."""
    # First: removing a text from an index needs the text, which lives in the other table.
    text_index.delete_texts(connection, session_id)
    connection.execute("DELETE FROM sessions WHERE id = ?", (session_id,))


def fetch_number(connection: Connection, query: str, *values: Column) -> int:
    """Return the single number a query selects."""
    return cast("int", connection.execute(query, values).fetchone()[0])


def _insert_message(connection: Connection, session_id: str, row: MessageRow) -> None:
    connection.execute(
        "INSERT INTO messages VALUES (?, ?, ?, ?)",
        (session_id, row.seq, row.after_entry, text_to_column(row.body)),
    )


def find_call(connection: Connection, session_id: str, call_id: str) -> TrackedCall | None:
    """Return the newest call of a session with an id, without its record; None if it has none."""
    row: tuple[int] | None = connection.execute(
        "SELECT seq FROM entries WHERE session_id = ? AND kind IN (?, ?) AND ref = ?"
        " ORDER BY seq DESC LIMIT 1",
        (session_id, OPEN_CALL, CALL, text_to_column(call_id)),
    ).fetchone()
    if row is None:
        return None
    last_piece, length = connection.execute(
        "SELECT max(seq), sum(length(data)) FROM output WHERE session_id = ? AND entry = ?",
        (session_id, row[0]),
    ).fetchone()
    return TrackedCall(row[0], None, None if last_piece is None else deque([(last_piece, length)]))


def load_entry_numbers(connection: Connection, session_id: str, kind: str) -> dict[str, int]:
    """Return the numbers of the entries of one kind, by their reference."""
    found: list[tuple[Column, int]] = connection.execute(
        "SELECT ref, seq FROM entries WHERE session_id = ? AND kind = ?", (session_id, kind)
    ).fetchall()
    return {text_from_column(ref): entry for ref, entry in found}


def read_call(connection: Connection, session_id: str, entry: int) -> CallRecord | None:
    """Return the call stored in an entry, without its output; None if it cannot be read."""
    row = connection.execute(
        "SELECT body FROM entries WHERE session_id = ? AND seq = ?", (session_id, entry)
    ).fetchone()
    try:
        record = None if row is None else decode(text_from_column(row[0]))
    except UnreadableRecordError as error:
        logger.warning("cannot read a stored tool call: %s", error)
        return None
    return record if isinstance(record, CallRecord) else None


def change_open_calls(
    connection: Connection, session_id: str, change: Callable[[CallRecord], CallRecord]
) -> None:
    """Store every open call as an ended one, as `change` returns it."""
    found = connection.execute(
        "SELECT seq FROM entries WHERE session_id = ? AND kind = ?", (session_id, OPEN_CALL)
    ).fetchall()
    for (entry,) in found:
        record = read_call(connection, session_id, entry)
        if record is not None:
            connection.execute(
                "UPDATE entries SET kind = ?, body = ? WHERE session_id = ? AND seq = ?",
                (CALL, text_to_column(encode(change(record))), session_id, entry),
            )
