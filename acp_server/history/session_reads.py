"""Reads stored sessions: one complete session, or a page of the list.

Only reads the tables.
"""

import json
import logging
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import cast

from acp_server.history import leases
from acp_server.history.call_tracker import MAX_OUTPUT_CHARACTERS
from acp_server.history.codec import UnreadableRecordError, decode
from acp_server.history.leases import LeaseHolder
from acp_server.history.merging import merge_chunks
from acp_server.history.rows import (
    FACT_COLUMNS,
    Column,
    Row,
    facts_from_row,
    system_from_row,
    text_from_column,
    text_to_column,
)
from acp_server.history.tables import IS_EMPTY_SQL, MESSAGE, SUMMARY, THOUGHT
from acp_server.session.errors import InvalidCursorError, UnknownSessionError
from acp_server.session.ports.archive import (
    CallRecord,
    Entry,
    SessionPage,
    StoredSession,
    UnshownRecord,
)
from acp_server.turn.conversation import AssistantMessage, Message, UserMessage
from acp_server.turn.events import (
    CompactionChanged,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    PromptReceived,
    SummaryChunk,
    ThoughtChunk,
)

logger = logging.getLogger(__name__)

MAX_EMPTY_AGE_US = 24 * 3600 * 1_000_000
PAGE_SIZE = 50
_UNCHUNKED = PromptReceived | PlanChanged | NoticeRaised | CompactionChanged | UnshownRecord
_CHUNKS = {MESSAGE: MessageChunk, THOUGHT: ThoughtChunk, SUMMARY: SummaryChunk}

Position = tuple[int, str]
"""The end of a page: when its last session was used, in microseconds, and its id."""


def load_session(connection: Connection, session_id: str) -> StoredSession:
    """Return everything stored of a session.

    Raises:
        UnknownSessionError: there is no session with this id.
    """
    row: Row | None = connection.execute(
        f"SELECT {FACT_COLUMNS}, is_turn_open FROM sessions WHERE id = ?",  # noqa: S608 - names of ours
        (session_id,),
    ).fetchone()
    if row is None:
        raise UnknownSessionError(session_id)
    system: Row | None = connection.execute(
        "SELECT * FROM prompts WHERE session_id = ?", (session_id,)
    ).fetchone()
    entries = list(_entries(connection, session_id))
    messages, after_entry = _messages(connection, session_id)
    is_turn_open = bool(row[-1])
    # Shown after the last message: the model has not seen it, because its turn never finished.
    unfinished = [entry for seq, entry in entries if seq > after_entry] if is_turn_open else []
    return StoredSession(
        facts=facts_from_row(row, system_from_row(system) if system else None),
        messages=messages,
        entries=merge_chunks(entry for _, entry in entries),
        unfinished=merge_chunks(unfinished),
        is_turn_open=is_turn_open,
    )


def list_page(connection: Connection, cwd: Path | None, cursor: str | None) -> SessionPage:
    """Return a page of sessions that have a prompt, the last used first, without system prompts.

    Raises:
        InvalidCursorError: the cursor was not issued by this server.
    """
    conditions: list[str] = []
    values: list[Column] = []
    if cursor is not None:
        # By position instead of OFFSET: sessions that are used between two pages do not shift the
        # rest.
        conditions.append("(updated_us, id) < (?, ?)")
        values += decode_cursor(cursor)
    if cwd is not None:
        conditions.append("cwd = ?")
        values.append(text_to_column(str(cwd)))
    conditions.append(f"NOT ({IS_EMPTY_SQL.format('sessions.id')})")
    rows: list[Row] = connection.execute(
        f"SELECT {FACT_COLUMNS} FROM sessions WHERE {' AND '.join(conditions)}"  # noqa: S608 - ours too
        f" ORDER BY updated_us DESC, id DESC LIMIT {PAGE_SIZE + 1}",
        values,
    ).fetchall()
    found = tuple(facts_from_row(row) for row in rows[:PAGE_SIZE])
    # One row more than a page was read, only to know whether another page follows.
    last = rows[PAGE_SIZE - 1] if len(rows) > PAGE_SIZE else None
    if last is None:
        return SessionPage(found)
    return SessionPage(found, encode_cursor(cast("int", last[4]), text_from_column(last[0])))


def stored_ids(connection: Connection) -> frozenset[str]:
    """Return the ids of all stored sessions."""
    rows = connection.execute("SELECT id FROM sessions").fetchall()
    return frozenset(text_from_column(row[0]) for row in cast("list[Row]", rows))


def find_abandoned(connection: Connection, own_holder: LeaseHolder) -> Sequence[str]:
    """Return the empty sessions that no process holds, nor will: they are more than a day old.

    Some clients open a session in one process and load it in another before they send a prompt.
    """
    held_ids = set(_held_empty_sessions(connection, own_holder))
    found: list[tuple[str]] = connection.execute(
        f"SELECT id FROM sessions WHERE created_us < ? AND {IS_EMPTY_SQL.format('sessions.id')}",  # noqa: S608 - names of ours
        (leases.now_us() - MAX_EMPTY_AGE_US,),
    ).fetchall()
    return [session_id for (session_id,) in found if session_id not in held_ids]


def _held_empty_sessions(connection: Connection, own_holder: LeaseHolder) -> Iterator[str]:
    """Return the empty sessions that a process holds."""
    found: list[tuple[str]] = connection.execute(
        f"SELECT session_id FROM leases AS held WHERE {IS_EMPTY_SQL.format('held.session_id')}"  # noqa: S608 - names of ours
    ).fetchall()
    now = leases.now_us()
    for (session_id,) in found:
        lease = leases.find(connection, session_id)
        if lease is not None and not lease.has_expired(own_holder, now):
            yield session_id


def _messages(connection: Connection, session_id: str) -> tuple[tuple[Message, ...], int]:
    """Return the conversation, and the last entry that existed when its last message came."""
    rows: list[Row] = connection.execute(
        "SELECT body, after_entry FROM messages WHERE session_id = ? ORDER BY seq", (session_id,)
    ).fetchall()
    found = (_decoded(row[0]) for row in rows)
    messages = tuple(each for each in found if isinstance(each, UserMessage | AssistantMessage))
    return messages, cast("int", rows[-1][1]) if rows else -1


def _entries(connection: Connection, session_id: str) -> Iterator[tuple[int, Entry]]:
    """Return the numbered entries, with texts still in chunks."""
    output = _output(connection, session_id)
    rows: list[tuple[int, str, Column, Column]] = connection.execute(
        "SELECT seq, kind, ref, body FROM entries WHERE session_id = ? ORDER BY seq", (session_id,)
    ).fetchall()
    for seq, kind, ref, body in rows:
        if kind in _CHUNKS:
            yield seq, _CHUNKS[kind](text_from_column(ref), text_from_column(body))
            continue
        entry = _decoded(body)
        if isinstance(entry, CallRecord):
            if entry.terminal is not None and (data := output.get(seq)):
                entry = replace(entry, terminal=replace(entry.terminal, data=data))
            yield seq, entry
        elif isinstance(entry, _UNCHUNKED):
            yield seq, entry


def _output(connection: Connection, session_id: str) -> dict[int, str]:
    """Return the output of the calls' commands, by entry number."""
    pieces: dict[int, list[str]] = {}
    for entry, data in connection.execute(
        "SELECT entry, data FROM output WHERE session_id = ? ORDER BY entry, seq", (session_id,)
    ):
        pieces.setdefault(entry, []).append(text_from_column(data))
    return {entry: "".join(each)[-MAX_OUTPUT_CHARACTERS:] for entry, each in pieces.items()}


def _decoded(body: Column) -> object:
    try:
        return decode(text_from_column(body))
    except UnreadableRecordError as error:
        logger.warning("left out of history: %s", error)
        return None


def encode_cursor(updated_us: int, session_id: str) -> str:
    """Return the cursor of the page behind a session."""
    return urlsafe_b64encode(json.dumps([updated_us, session_id]).encode()).decode()


def decode_cursor(cursor: str) -> Position:
    """Return the position that a cursor stands for.

    Raises:
        InvalidCursorError: the cursor was not issued by this server.
    """
    try:
        found: object = json.loads(urlsafe_b64decode(cursor.encode()))
    except (ValueError, RecursionError):
        raise InvalidCursorError from None
    match found:
        case [int() as updated_us, str() as session_id]:
            return updated_us, session_id
        case _:
            raise InvalidCursorError
