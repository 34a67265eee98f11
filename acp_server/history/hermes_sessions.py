"""The ACP sessions of Hermes in its database: listed and read, never written.

A session that is continued becomes one of this server; its rows at Hermes stay as they are. Several
versions of the database exist: missing columns are substituted. Blocks.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from acp_server.history.layouts import column_names, decode_content
from acp_server.history.search_databases import open_read_only
from acp_server.session.errors import UnknownSessionError
from acp_server.session.ports.archive import CallRecord, Entry, SessionFacts, StoredSession
from acp_server.session.recorder import make_title
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import Object, as_object, as_objects, as_text
from acp_server.text.surrogates import repair_surrogates
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    ReplyPart,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.events import CallAppeared, CallChanged, MessageChunk, PromptReceived

SOURCE = "acp"
"""What Hermes writes into the column `source` for sessions of editors."""
MAX_SESSIONS = 1_000
"""As many as Hermes itself lists."""
MAX_TITLE_CHARACTERS = 100
NO_RESULT = "(Hermes stored no result of this call.)"
INTERRUPTED_ANSWER = "(There was no answer.)"
_SUBJECTS = ("command", "path", "file_path", "pattern", "query", "url", "goal", "name", "action")
"""Arguments that say what a call is about, best first."""
_MAX_SECONDS = 253_402_300_799
_Row = Mapping[str, object]


@frozen_dataclass
class HermesSessions:
    """The sessions in one database; there are none if it is missing or cannot be read."""

    file: Path

    def list(self) -> Sequence[SessionFacts]:
        """Return the facts of the sessions that have a prompt, the last used first."""
        try:
            with closing(open_read_only(self.file)) as connection:
                rows = list(_session_rows(connection))
                found = [_facts(row) for row in rows]
        except (sqlite3.Error, OSError):
            return ()
        return sorted(found, key=lambda each: (each.updated_at, each.id), reverse=True)

    def read(self, session_id: str) -> StoredSession:
        """Return a session as this server stores its own.

        Raises:
            UnknownSessionError: there is no such session, or the database cannot be read.
        """
        try:
            with closing(open_read_only(self.file)) as connection:
                rows = list(_session_rows(connection, session_id))
                messages = list(_message_rows(connection, session_id)) if rows else []
        except (sqlite3.Error, OSError):
            rows, messages = [], []
        if not rows:
            raise UnknownSessionError(session_id)
        # What a summary replaced is shown, but the model no longer sees it.
        sent = [row for row in messages if row["active"] != 0]
        return StoredSession(_facts(rows[0]), _conversation(sent), tuple(_entries(messages)))


def call_title(name: str, arguments: str) -> str:
    """Return a call as one line.

    >>> call_title("terminal", '{"command": "npm  test", "timeout": 5}')
    'terminal: npm test'
    """
    try:
        values = as_object(cast("JsonValue", json.loads(arguments)))
    except (ValueError, RecursionError):
        values = {}
    subjects = (values[each] for each in _SUBJECTS if isinstance(values.get(each), str))
    texts = (each for each in values.values() if isinstance(each, str))
    subject = " ".join(str(next(subjects, None) or next(texts, "")).split())
    title = f"{name}: {subject}" if subject else name
    return title if len(title) <= MAX_TITLE_CHARACTERS else f"{title[: MAX_TITLE_CHARACTERS - 1]}…"


# Rows.


def _session_rows(connection: sqlite3.Connection, session_id: str | None = None) -> Iterator[_Row]:
    """Yield the sessions of editors that have a prompt, with the first prompt as `preview`."""
    columns = column_names(connection, "sessions")
    if not columns >= {"id", "source", "started_at"}:
        return
    optional = ("title", "cwd", "model", "model_config", "ended_at", "last_activity_at")
    wanted = ", ".join(each if each in columns else f"NULL AS {each}" for each in optional)
    of_session = "session_id = sessions.id"
    query = (
        f"SELECT id, started_at, {wanted},"  # noqa: S608  names of ours
        f" (SELECT content FROM messages WHERE {of_session} AND role = 'user'"
        "   ORDER BY id LIMIT 1) AS preview,"
        f" (SELECT max(timestamp) FROM messages WHERE {of_session}) AS last_at"
        " FROM sessions WHERE source = ? AND preview IS NOT NULL"
    )
    values: tuple[object, ...] = (SOURCE,)
    if session_id is not None:
        query, values = f"{query} AND id = ?", (SOURCE, session_id)
    connection.row_factory = sqlite3.Row
    for row in connection.execute(f"{query} ORDER BY started_at DESC LIMIT {MAX_SESSIONS}", values):
        yield dict(cast("sqlite3.Row", row))


def _message_rows(connection: sqlite3.Connection, session_id: str) -> Iterator[_Row]:
    """Yield the messages that Hermes shows, those that a summary replaced included."""
    columns = column_names(connection, "messages")
    is_shown = "TRUE"
    if "active" in columns:
        is_shown = "active = 1 OR compacted = 1" if "compacted" in columns else "active = 1"
    optional = ("tool_call_id", "tool_calls", "active")
    wanted = ", ".join(each if each in columns else f"NULL AS {each}" for each in optional)
    connection.row_factory = sqlite3.Row
    query = (
        f"SELECT id, role, content, {wanted} FROM messages"  # noqa: S608  names of ours
        f" WHERE session_id = ? AND ({is_shown}) ORDER BY id"
    )
    for row in connection.execute(query, (session_id,)):
        yield dict(cast("sqlite3.Row", row))


def _facts(row: _Row) -> SessionFacts:
    config = _json_object(row["model_config"])
    preview = decode_content(_text(row["preview"]))
    created = _time(row["started_at"])
    used = max(_time(row[each]) for each in ("last_at", "ended_at", "last_activity_at"))
    return SessionFacts(
        id=_text(row["id"]),
        cwd=Path(_text(row["cwd"]) or as_text(config.get("cwd")) or "/"),
        created_at=created,
        updated_at=max(created, used),
        title=_text(row["title"]) or make_title([Text(preview)]),
        mode="",  # Hermes has no modes: that of the settings
    )


# Contents.


class _ConversationBuilder:
    """Builds a conversation that every provider accepts: each call is followed by its result."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self._results: dict[str, ToolResult | None] = {}
        """The calls of the last message, with their results so far."""

    def add_user(self, text: str) -> None:
        """Add a prompt; one that got no answer is given one."""
        last = self.messages[-1] if self.messages else None
        if isinstance(last, UserMessage) and not isinstance(last.parts[0], ToolResult):
            self.messages.append(AssistantMessage((Text(INTERRUPTED_ANSWER),)))
        self.messages.append(UserMessage((Text(text),)))

    def add_assistant(self, text: str, calls: Sequence[ToolCall]) -> None:
        """Add an answer, unless no prompt came before it."""
        parts: tuple[ReplyPart, ...] = (*([Text(text)] if text.strip() else ()), *calls)
        if parts and self.messages:
            self.messages.append(AssistantMessage(parts))
            self._results.update(dict.fromkeys((call.id for call in calls), None))

    def add_result(self, call_id: str, text: str) -> None:
        """Add the result of a call of the last message; ignored for any other call."""
        if call_id in self._results:
            self._results[call_id] = ToolResult(call_id, text)

    def close_calls(self) -> None:
        """End the calls of the last message."""
        results = tuple(
            result or ToolResult(call_id, NO_RESULT, is_error=True)
            for call_id, result in self._results.items()
        )
        if results:
            self.messages.append(UserMessage(results))
            self._results.clear()


def _conversation(rows: Sequence[_Row]) -> tuple[Message, ...]:
    builder = _ConversationBuilder()
    for row in rows:
        text = decode_content(_text(row["content"]))
        if row["role"] == "tool":
            builder.add_result(_text(row["tool_call_id"]), text)
            continue
        builder.close_calls()
        if row["role"] == "user" and text:
            builder.add_user(text)
        elif row["role"] == "assistant":
            builder.add_assistant(text, _calls(row))
    builder.close_calls()
    return tuple(builder.messages)


def _entries(rows: Sequence[_Row]) -> Iterator[Entry]:
    """Yield what is shown: prompts, answers, and each call as one line."""
    for row in rows:
        text, message_id = decode_content(_text(row["content"])), f"hermes-{row['id']}"
        if row["role"] == "user" and text:
            yield PromptReceived(message_id, (Text(text),))
        elif row["role"] == "assistant":
            if text.strip():
                yield MessageChunk(message_id, text)
            for call in _calls(row):
                title = call_title(call.name, call.arguments)
                yield CallRecord(
                    CallAppeared(call.id, call.name, title=title),
                    CallChanged(call.id, "completed", title, content=()),
                )


def _calls(row: _Row) -> tuple[ToolCall, ...]:
    """Return the calls of an assistant's message, which Hermes stores as OpenAI writes them."""
    try:
        written: JsonValue = json.loads(_text(row["tool_calls"]) or "[]")
    except (ValueError, RecursionError):
        return ()
    found: list[ToolCall] = []
    for number, each in enumerate(as_objects(written)):
        function = as_object(each.get("function"))
        name = as_text(function.get("name")) or as_text(each.get("name"))
        if name:
            call_id = as_text(each.get("id")) or f"hermes-{row['id']}-{number}"
            arguments = _json_object(function.get("arguments"))
            found.append(ToolCall(call_id, name, json.dumps(arguments, ensure_ascii=False)))
    return tuple(found)


def _json_object(value: object) -> Object:
    try:
        return as_object(cast("JsonValue", json.loads(_text(value) or "{}")))
    except (ValueError, RecursionError):
        return {}


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return repair_surrogates(value.decode(errors="replace"))
    return "" if value is None else str(value)


def _time(value: object) -> datetime:
    seconds = value if isinstance(value, int | float) else 0
    return datetime.fromtimestamp(min(max(0, seconds), _MAX_SECONDS), UTC)
