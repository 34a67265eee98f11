"""A session's facts as a database row, and the encoding of column values.

Knows the tables `sessions` and `prompts`, not conversations.
"""

import json
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

from pydantic import JsonValue

from acp_server.session.ports.archive import SavedSystem, SessionFacts
from acp_server.turn.events import Usage
from acp_server.turn.usage_totals import UsageTotals

Column = str | bytes | int | float | None
Row = tuple[Column, ...]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

FACT_COLUMNS = (
    "id, cwd, additional, created_us, updated_us, title, mode, model_id, thought_level,"
    " input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,"
    " cache_write_1h_tokens, requests, cost_usd, context_tokens, network, ports, fast_mode"
)
"""The columns of a session that `facts_from_row` reads."""

TOKEN_COUNTS = 5
"""How many of the columns are fields of `Usage`, the first ones of its fields."""

_CHANGING = (
    name for name in FACT_COLUMNS.split(", ") if name not in {"id", "created_us", "updated_us"}
)

# max: if the clock is set back, a session must not move down in the list.
SAVE_FACTS = f"""
    INSERT INTO sessions ({FACT_COLUMNS}) VALUES ({", ".join("?" * 20)})
    ON CONFLICT (id) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _CHANGING)},
    updated_us = max(updated_us, excluded.updated_us)
"""  # noqa: S608 - names of ours
"""Takes the values of `facts_row`."""

SAVE_SYSTEM = "INSERT OR REPLACE INTO prompts VALUES (?, ?, ?, ?, ?)"
"""Takes the values of `system_row`."""


def text_to_column(text: str) -> str | bytes:
    """Return a text as a column value: bytes if it contains lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogatepass")
    return text


def text_from_column(column: Column) -> str:
    """Return the text of a column value."""
    if isinstance(column, bytes):
        return column.decode(errors="surrogatepass")
    return cast("str", column)


def time_to_column(moment: datetime) -> int:
    """Return a time as a column value."""
    return (moment - _EPOCH) // _MICROSECOND


def time_from_column(column: Column) -> datetime:
    """Return the time of a column value, in UTC."""
    return _EPOCH + timedelta(microseconds=cast("int", column))


def facts_row(facts: SessionFacts) -> Row:
    """Return a session's column values, in the order of `FACT_COLUMNS`."""
    return (
        facts.id,
        text_to_column(str(facts.cwd)),
        text_to_column(
            json.dumps([str(path) for path in facts.additional_directories], ensure_ascii=False)
        ),
        time_to_column(facts.created_at),
        time_to_column(facts.updated_at),
        text_to_column(facts.title),
        text_to_column(facts.mode),
        _optional_text_to_column(facts.model_id),
        _optional_text_to_column(facts.thought_level),
        *astuple(facts.usage.usage)[:TOKEN_COUNTS],
        facts.usage.requests,
        facts.usage.cost_usd,
        facts.usage.context_tokens,
        _optional_text_to_column(facts.network),
        _optional_text_to_column(facts.ports),
        _optional_text_to_column(facts.fast_mode),
    )


def facts_from_row(row: Row, system: SavedSystem | None = None) -> SessionFacts:
    """Return the facts stored in a row."""
    tokens = cast("tuple[int, int, int, int, int]", row[9:14])
    return SessionFacts(
        id=text_from_column(row[0]),
        cwd=Path(text_from_column(row[1])),
        additional_directories=tuple(
            map(Path, cast("list[str]", json.loads(text_from_column(row[2]))))
        ),
        created_at=time_from_column(row[3]),
        updated_at=time_from_column(row[4]),
        title=text_from_column(row[5]),
        mode=text_from_column(row[6]),
        model_id=None if row[7] is None else text_from_column(row[7]),
        thought_level=None if row[8] is None else text_from_column(row[8]),
        network=None if row[17] is None else text_from_column(row[17]),
        ports=None if row[18] is None else text_from_column(row[18]),
        fast_mode=None if row[19] is None else text_from_column(row[19]),
        usage=UsageTotals(
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
        text_to_column(system.text),
        text_to_column(system.model_id),
        time_to_column(system.written_at),
        text_to_column(json.dumps(dict(system.state), ensure_ascii=False)),
    )


def system_from_row(row: Row) -> SavedSystem:
    """Return the system prompt stored in a row."""
    state = cast("dict[str, JsonValue]", json.loads(text_from_column(row[4])))
    return SavedSystem(
        text_from_column(row[1]), text_from_column(row[2]), time_from_column(row[3]), state
    )


def _optional_text_to_column(text: str | None) -> str | bytes | None:
    return None if text is None else text_to_column(text)
