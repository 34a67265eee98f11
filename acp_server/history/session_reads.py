"""Reads stored sessions: a complete one, the state of one, or a page of the list.

Only reads the tables.
"""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from sqlite3 import Connection
from typing import cast

from acp_server.history import leases
from acp_server.history.call_tracker import MAX_OUTPUT_CHARACTERS
from acp_server.history.codec import decode_or_none
from acp_server.history.leases import LeaseHolder
from acp_server.history.merging import merge_chunks
from acp_server.history.packed_messages import PackedMessages
from acp_server.history.rows import (
    FACT_COLUMNS,
    Column,
    Row,
    facts_from_row,
    system_from_row,
    text_from_column,
    text_to_column,
)
from acp_server.history.tables import IS_EMPTY_SQL, MESSAGE, SUMMARY, THOUGHT, fetch_number
from acp_server.session.errors import InvalidCursorError, UnknownSessionError
from acp_server.session.ports.archive import (
    CallRecord,
    Entry,
    RemovedMessages,
    SeenFile,
    SessionFacts,
    SessionPage,
    SessionState,
    StoredSession,
    UnshownRecord,
)
from acp_server.session.replay import StateEntries
from acp_server.turn.events import (
    CompactionChanged,
    MessageChunk,
    NoticeRaised,
    PlanChanged,
    PromptReceived,
    SummaryChunk,
    ThoughtChunk,
)

MAX_EMPTY_AGE_US = 24 * 3600 * 1_000_000
PAGE_SIZE = 50
_UNCHUNKED = PromptReceived | PlanChanged | NoticeRaised | CompactionChanged | UnshownRecord
_CHUNKS = {MESSAGE: MessageChunk, THOUGHT: ThoughtChunk, SUMMARY: SummaryChunk}

EntryRow = tuple[int, str, Column, Column]
"""A row of `entries`: its number, kind, reference and body."""
Position = tuple[int, str]
"""The end of a page: when its last session was used, in microseconds, and its id."""


def load_session(connection: Connection, session_id: str) -> StoredSession:
    """Return everything stored of a session.

    Raises:
        UnknownSessionError: there is no session with this id.
    """
    facts, is_turn_open = _facts(connection, session_id)
    entries = list(_entries(connection, session_id))
    after_entry = _last_message_entry(connection, session_id)
    # Shown after the last message: the model has not seen it, because its turn never finished.
    unfinished = [entry for seq, entry in entries if seq > after_entry] if is_turn_open else []
    return StoredSession(
        facts=facts,
        messages=tuple(_messages(connection, session_id)),
        entries=merge_chunks(entry for _, entry in entries),
        unfinished=merge_chunks(unfinished),
        is_turn_open=is_turn_open,
    )


def load_state(connection: Connection, session_id: str) -> SessionState:
    """Return the state to continue a session from; its history is not read.

    Raises:
        UnknownSessionError: there is no session with this id.
    """
    facts, is_turn_open = _facts(connection, session_id)
    collected = StateEntries()
    kinds = (SeenFile.__name__, PromptReceived.__name__, RemovedMessages.__name__)
    for _, entry in decoded_entries(connection, session_id, kinds):
        collected.add(entry)
    partial_reply = _unfinished_text(connection, session_id) if is_turn_open else ""
    return SessionState(
        facts=facts,
        messages=_messages(connection, session_id),
        is_turn_open=is_turn_open,
        partial_reply=partial_reply,
        seen_files=tuple(collected.seen_files.values()),
        checkpoints=collected.checkpoints,
        removed_messages=collected.removed_messages,
        last_entry=last_entry(connection, session_id),
    )


def last_entry(connection: Connection, session_id: str) -> int:
    """Return the number of the newest entry; -1 if there is none."""
    query = "SELECT coalesce(max(seq), -1) FROM entries WHERE session_id = ?"
    return fetch_number(connection, query, session_id)


def decoded_entries(
    connection: Connection, session_id: str, kinds: Sequence[str]
) -> Iterator[tuple[int, object]]:
    """Yield the numbered entries of some kinds whose bodies are JSON; None if unreadable."""
    marks = ", ".join("?" * len(kinds))
    rows: Iterable[tuple[int, Column]] = connection.execute(
        f"SELECT seq, body FROM entries WHERE session_id = ? AND kind IN ({marks}) ORDER BY seq",  # noqa: S608 - only marks
        (session_id, *kinds),
    )
    for seq, body in rows:
        yield seq, _decoded(body)


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


def _facts(connection: Connection, session_id: str) -> tuple[SessionFacts, bool]:
    """Return a session's facts, and whether a turn of it was running."""
    row: Row | None = connection.execute(
        f"SELECT {FACT_COLUMNS}, is_turn_open FROM sessions WHERE id = ?",  # noqa: S608 - names of ours
        (session_id,),
    ).fetchone()
    if row is None:
        raise UnknownSessionError(session_id)
    system: Row | None = connection.execute(
        "SELECT * FROM prompts WHERE session_id = ?", (session_id,)
    ).fetchone()
    return facts_from_row(row, system_from_row(system) if system else None), bool(row[-1])


def _messages(connection: Connection, session_id: str) -> PackedMessages:
    """Return the conversation."""
    rows: Iterable[Row] = connection.execute(
        "SELECT body FROM messages WHERE session_id = ? ORDER BY seq", (session_id,)
    )
    return PackedMessages(row[0] for row in rows)


def _last_message_entry(connection: Connection, session_id: str) -> int:
    """Return the last entry that existed when the last message came."""
    row: tuple[int] | None = connection.execute(
        "SELECT after_entry FROM messages WHERE session_id = ? ORDER BY seq DESC LIMIT 1",
        (session_id,),
    ).fetchone()
    return -1 if row is None else row[0]


def _unfinished_text(connection: Connection, session_id: str) -> str:
    """Return the text of the model that was shown after the last message."""
    rows: Iterable[tuple[Column]] = connection.execute(
        "SELECT body FROM entries WHERE session_id = ? AND seq > ? AND kind = ? ORDER BY seq",
        (session_id, _last_message_entry(connection, session_id), MESSAGE),
    )
    return "".join(text_from_column(row[0]) for row in rows)


def _entries(connection: Connection, session_id: str) -> Iterator[tuple[int, Entry]]:
    """Yield the numbered entries, with texts still in chunks."""
    rows: Iterable[EntryRow] = connection.execute(
        "SELECT seq, kind, ref, body FROM entries WHERE session_id = ? ORDER BY seq", (session_id,)
    )
    for row in rows:
        entry = read_entry(connection, session_id, row)
        if entry is not None:
            yield row[0], entry


def read_entry(connection: Connection, session_id: str, row: EntryRow) -> Entry | None:
    """Return the entry of a row, a call with its output; None if it cannot be read."""
    seq, kind, ref, body = row
    if kind in _CHUNKS:
        return _CHUNKS[kind](text_from_column(ref), text_from_column(body))
    entry = _decoded(body)
    if isinstance(entry, CallRecord):
        if entry.terminal is not None and (data := _output(connection, session_id, seq)):
            return replace(entry, terminal=replace(entry.terminal, data=data))
        return entry
    return entry if isinstance(entry, _UNCHUNKED) else None


def _output(connection: Connection, session_id: str, entry: int) -> str:
    """Return the output of a call's command."""
    rows: Iterable[tuple[Column]] = connection.execute(
        "SELECT data FROM output WHERE session_id = ? AND entry = ? ORDER BY seq",
        (session_id, entry),
    )
    return "".join(text_from_column(row[0]) for row in rows)[-MAX_OUTPUT_CHARACTERS:]


def _decoded(body: Column) -> object:
    return decode_or_none(text_from_column(body))


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
