"""Copies a session within the database, under another id.

Only rows are copied, so the length of the session does not matter.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from sqlite3 import Connection

from acp_server.history import text_index
from acp_server.history.codec import decode_or_none
from acp_server.history.history_pages import find_ranges
from acp_server.history.rows import (
    SAVE_FACTS,
    SAVE_SYSTEM,
    Column,
    facts_row,
    system_row,
    text_from_column,
)
from acp_server.history.session_reads import last_entry
from acp_server.history.tables import change_open_calls, merge_chunk_rows
from acp_server.session.ports.archive import RemovedMessages, SeenFile, SessionFacts, TaskMessage
from acp_server.session.replay import close_call
from acp_server.turn.conversation import AssistantMessage, UserMessage

_LEFT_OUT = (SeenFile.__name__, RemovedMessages.__name__, TaskMessage.__name__)


def copy_session(connection: Connection, session_id: str, facts: SessionFacts) -> None:
    """Copy a session to the one that `facts` describes, without removed messages."""
    connection.execute(SAVE_FACTS, facts_row(facts))
    if facts.system is not None:
        connection.execute(SAVE_SYSTEM, system_row(facts.id, facts.system))
    _copy_entries(connection, session_id, facts.id)
    change_open_calls(connection, facts.id, close_call)
    merge_chunk_rows(connection, facts.id, 0)
    connection.execute(
        "INSERT INTO messages SELECT ?, seq, ?, body FROM messages WHERE session_id = ?",
        (facts.id, last_entry(connection, facts.id), session_id),
    )
    _add_texts(connection, facts.id)


def _copy_entries(connection: Connection, session_id: str, copy_id: str) -> None:
    marks = ", ".join("?" * len(_LEFT_OUT))
    start = 0
    for first, last in find_ranges(connection, session_id, last_entry(connection, session_id)):
        # Messages that a rewind brought back come later than their numbers say.
        moved = (start - first, session_id, first, last)
        connection.execute(
            "INSERT INTO entries SELECT ?, seq + ?, kind, ref, body FROM entries"  # noqa: S608 - only marks
            f" WHERE session_id = ? AND seq BETWEEN ? AND ? AND kind NOT IN ({marks})",
            (copy_id, *moved, *_LEFT_OUT),
        )
        connection.execute(
            "INSERT INTO output SELECT ?, entry + ?, seq, data FROM output"
            " WHERE session_id = ? AND entry BETWEEN ? AND ?",
            (copy_id, *moved),
        )
        start += last - first + 1
    # The copy's conversation is the same, so its model has seen the same files.
    connection.execute(
        "INSERT INTO entries SELECT ?, seq + ?, kind, ref, body FROM entries"
        " WHERE session_id = ? AND kind = ?",
        (copy_id, start, session_id, SeenFile.__name__),
    )


def _add_texts(connection: Connection, session_id: str) -> None:
    """Add the texts of the conversation for searches."""
    now = datetime.now(UTC)
    rows: Iterable[tuple[Column]] = connection.execute(
        "SELECT body FROM messages WHERE session_id = ? ORDER BY seq", (session_id,)
    )
    for (body,) in rows:
        message = decode_or_none(text_from_column(body))
        if isinstance(message, UserMessage | AssistantMessage):
            text_index.add_message_texts(connection, session_id, now, message)
