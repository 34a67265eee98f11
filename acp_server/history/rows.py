"""A session's facts as a database row, and the encoding of column values.

Knows the tables `sessions` and `prompts`, not conversations.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from acp_server.session.ports.archive import SavedSystem, SessionFacts
from acp_server.turn.events import Usage
from acp_server.turn.loop import Spent

Column = str | bytes | int | float | None
Row = tuple[Column, ...]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

FACTS = (
    "id, cwd, additional, created_us, updated_us, title, mode, model_id, thought_level,"
    " input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,"
    " cache_write_1h_tokens, requests, cost_usd, context_tokens"
)
"""The columns of a session that `facts_of` reads."""

_CHANGING = (name for name in FACTS.split(", ") if name not in {"id", "created_us", "updated_us"})

# max: if the clock is set back, a session must not move down in the list.
SAVE_FACTS = f"""
    INSERT INTO sessions ({FACTS}) VALUES ({", ".join("?" * 17)})
    ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _CHANGING)},
    updated_us = max(updated_us, excluded.updated_us)
"""  # noqa: S608 - names of ours
"""Takes the values of `facts_row`."""

SAVE_SYSTEM = "INSERT OR REPLACE INTO prompts VALUES (?, ?, ?, ?, ?)"
"""Takes the values of `system_row`."""


def spelled(text: str) -> str | bytes:
    """Return a text as a column value: bytes if it contains lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def read_text(column: Column) -> str:
    """Return the text of a column value."""
    if isinstance(column, bytes):
        return column.decode(errors="surrogatepass")
    return cast("str", column)


def microseconds(moment: datetime) -> int:
    """Return a time as a column value."""
    return (moment - _EPOCH) // _MICROSECOND


def moment_of(column: Column) -> datetime:
    """Return the time of a column value, in UTC."""
    return _EPOCH + timedelta(microseconds=cast("int", column))


def facts_row(facts: SessionFacts) -> Row:
    """Return a session's column values, in the order of `FACTS`."""
    usage = facts.spent.usage
    return (
        facts.id,
        spelled(str(facts.cwd)),
        spelled(json.dumps([str(path) for path in facts.additional], ensure_ascii=False)),
        microseconds(facts.created_at),
        microseconds(facts.updated_at),
        spelled(facts.title),
        spelled(facts.mode),
        _optional(facts.model_id),
        _optional(facts.thought_level),
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_5m_tokens,
        usage.cache_write_1h_tokens,
        facts.spent.requests,
        facts.spent.cost_usd,
        facts.spent.context_tokens,
    )


def facts_of(row: Row, system: SavedSystem | None = None) -> SessionFacts:
    """Return the facts stored in a row."""
    tokens = cast("tuple[int, ...]", row[9:14])
    return SessionFacts(
        id=read_text(row[0]),
        cwd=Path(read_text(row[1])),
        additional=tuple(map(Path, cast("list[str]", json.loads(read_text(row[2]))))),
        created_at=moment_of(row[3]),
        updated_at=moment_of(row[4]),
        title=read_text(row[5]),
        mode=read_text(row[6]),
        model_id=None if row[7] is None else read_text(row[7]),
        thought_level=None if row[8] is None else read_text(row[8]),
        spent=Spent(
            Usage(*tokens),
            cast("int", row[14]),
            cast("float | None", row[15]),
            cast("int", row[16]),
        ),
        system=system,
    )


def system_row(session_id: str, system: SavedSystem) -> Row:
    """Return the column values of a system prompt."""
    return (
        session_id,
        spelled(system.text),
        spelled(system.model_id),
        microseconds(system.written_at),
        spelled(json.dumps(dict(system.state), ensure_ascii=False)),
    )


def system_of(row: Row) -> SavedSystem:
    """Return the system prompt stored in a row."""
    state = cast("dict[str, JsonValue]", json.loads(read_text(row[4])))
    return SavedSystem(read_text(row[1]), read_text(row[2]), moment_of(row[3]), state)


def _optional(text: str | None) -> str | bytes | None:
    return None if text is None else spelled(text)
