"""One open database of past texts, in any layout.

Takes index queries, not user input. However large the database is, each search is bounded: the
newest texts come first (the oldest, if requested), in growing ranges, until there are enough
results or the time is up.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from sqlite3 import Connection
from typing import cast

from acp_server.history.layouts import DatabaseLayout
from acp_server.session.ports.session_search import PastSession, PastText, Role, SessionExcerpt
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.surrogates import repair_surrogates

MAX_CANDIDATES = 500
"""Matching texts that are examined: for a common word, the newest."""
SCANNED_TEXTS = 20_000
"""The newest texts that are read if no index helps."""
SEARCH_TIMEOUT_SECONDS = 0.25
"""Time limit of one index search; it then returns its results so far."""
FIRST_RANGE_TEXTS = 100_000
_MAX_TIMESTAMP_SECONDS = 250_000_000_000
"""The latest time that can be represented; other programs may have written anything."""

Column = str | bytes | int | float | None
Row = tuple[Column, ...]


@frozen_dataclass
class TextFilter:
    """Restricts a search to roles and sessions."""

    roles: tuple[Role, ...]
    is_oldest_first: bool = False
    excluded_id: str | None = None


@frozen_dataclass
class CandidateText:
    """A text that may match, and its session."""

    session_id: str
    text: PastText


@frozen_dataclass
class CandidateBatch:
    """The result of one search step."""

    candidates: tuple[CandidateText, ...] = ()
    is_scan: bool = False
    """Whether no index helped, so that only the newest texts were read."""
    is_cut_short: bool = False
    """Whether the time was up before all texts were examined."""


class HistoryDatabase:
    """A database of past texts."""

    def __init__(self, connection: Connection, layout: DatabaseLayout) -> None:
        self.layout = layout
        self._connection = connection

    def search_index(self, index: str, expression: str, text_filter: TextFilter) -> CandidateBatch:
        """Return the first texts that match an index query."""
        order = "ASC" if text_filter.is_oldest_first else "DESC"
        statement = (
            f"SELECT t.id, t.session_id, t.role, t.at, t.text FROM {index} AS found"  # noqa: S608 - names of ours
            # CROSS JOIN fixes the order in SQLite: index first. The planner might scan all texts.
            f" CROSS JOIN {self.layout.texts} AS t ON t.id = found.rowid"
            f" WHERE {index} MATCH ? AND found.rowid BETWEEN ? AND ?"
            f" AND {_role_in(text_filter.roles)} AND t.session_id IS NOT ?"
            f" ORDER BY found.rowid {order} LIMIT {MAX_CANDIDATES}"
        )
        found: list[CandidateText] = []
        deadline_seconds = time.monotonic() + SEARCH_TIMEOUT_SECONDS
        for low, high in self._id_ranges(is_upwards=text_filter.is_oldest_first):
            # Checked between ranges: a query that runs cannot be interrupted, so each range is
            # bounded.
            if time.monotonic() > deadline_seconds:
                return CandidateBatch(tuple(found), is_cut_short=True)
            values = (expression, low, high, *text_filter.roles, text_filter.excluded_id)
            found += map(self._candidate, self._connection.execute(statement, values))
            if len(found) >= MAX_CANDIDATES:
                break
        return CandidateBatch(tuple(found[:MAX_CANDIDATES]))

    def scan(self, groups: Iterable[Sequence[str]], text_filter: TextFilter) -> CandidateBatch:
        """Return those of the newest texts that contain a part of each group."""
        patterns = [_like_patterns(group) for group in groups]
        clause = "t.text LIKE ? ESCAPE '!'"
        condition = " AND ".join(f"({' OR '.join([clause] * len(group))})" for group in patterns)
        rows = self._connection.execute(
            "SELECT t.id, t.session_id, t.role, t.at, t.text FROM"  # noqa: S608 - names of ours
            f" (SELECT * FROM {self.layout.texts} ORDER BY id DESC LIMIT {SCANNED_TEXTS}) AS t"
            f" WHERE {_role_in(text_filter.roles)} AND t.session_id IS NOT ? AND {condition}"
            f" LIMIT {MAX_CANDIDATES}",
            (
                *text_filter.roles,
                text_filter.excluded_id,
                *(pattern for group in patterns for pattern in group),
            ),
        )
        return CandidateBatch(tuple(map(self._candidate, rows)), is_scan=True)

    def find_session(self, session_id: str) -> PastSession | None:
        """Return a session by id, or None."""
        rows = self._connection.execute(
            f"SELECT id, title, cwd, began, updated FROM {self.layout.sessions} WHERE id = ?",  # noqa: S608 - names of ours
            (session_id,),
        )
        return next(map(self._past_session, rows), None)

    def find_by_id_prefix(self, prefix: str, limit: int) -> list[PastSession]:
        """Return the sessions whose ids start with `prefix`, ordered by id."""
        rows = self._connection.execute(
            f"SELECT id, title, cwd, began, updated FROM {self.layout.sessions}"  # noqa: S608 - names of ours
            " WHERE id >= ? AND id < ? ORDER BY id LIMIT ?",
            # A range instead of LIKE: uses the primary key and needs no escaping.
            (repair_surrogates(prefix), repair_surrogates(prefix) + "\U0010ffff", limit),
        )
        return list(map(self._past_session, rows))

    def recent_sessions(self, limit: int, excluded_id: str | None) -> list[PastSession]:
        """Return the most recently used sessions that have a text, newest first."""
        rows = self._connection.execute(
            "SELECT id, title, cwd, began, updated"  # noqa: S608 - names of ours
            f" FROM {self.layout.sessions} AS s WHERE id IS NOT ?"
            f" AND EXISTS (SELECT 1 FROM {self.layout.texts} AS t WHERE t.session_id = s.id)"
            " ORDER BY updated DESC, id DESC LIMIT ?",
            (excluded_id, limit),
        )
        return list(map(self._past_session, rows))

    def texts_around(
        self, session: PastSession, text_id: int, window: int, roles: tuple[Role, ...]
    ) -> SessionExcerpt:
        """Return a text with its neighbours; no texts if it does not exist."""
        current = self._texts(session.id, "id = ?", (text_id,), 1)
        if not current:
            return SessionExcerpt(session, ())
        condition = f"id {{}} ? AND {_role_in(roles)} ORDER BY id {{}}"
        values = (text_id, *roles)
        earlier = self._texts(session.id, condition.format("<", "DESC"), values, window)[::-1]
        later = self._texts(session.id, condition.format(">", "ASC"), values, window)
        texts = (*earlier, *current, *later)
        return SessionExcerpt(
            session,
            texts,
            before=self._count(session.id, "id < ?", texts[0].id),
            after=self._count(session.id, "id > ?", texts[-1].id),
        )

    def first_and_last_texts(self, session: PastSession, limit: int) -> SessionExcerpt:
        """Return up to `limit` texts of a session: two thirds from its start, the rest its end."""
        total = self._count(session.id, "id > ?", 0)
        if total <= limit:
            return SessionExcerpt(
                session, tuple(self._texts(session.id, "TRUE ORDER BY id", (), limit))
            )
        tail_count = limit // 3
        first_texts = self._texts(session.id, "TRUE ORDER BY id", (), limit - tail_count)
        last_texts = self._texts(session.id, "TRUE ORDER BY id DESC", (), tail_count)[::-1]
        return SessionExcerpt(session, (*first_texts, *last_texts), omitted=total - limit)

    def _id_ranges(self, *, is_upwards: bool) -> Iterator[tuple[int, int]]:
        """Yield adjacent ranges of ids, each twice as long as the one before."""
        row: tuple[int | None, int | None] = self._connection.execute(
            f"SELECT (SELECT min(id) FROM {self.layout.texts}),"  # noqa: S608 - names of ours
            f" (SELECT max(id) FROM {self.layout.texts})"
        ).fetchone()
        lowest, highest = row[0] or 0, row[1] or 0
        length = FIRST_RANGE_TEXTS
        while lowest <= highest:
            if is_upwards:
                yield lowest, min(highest, lowest + length - 1)
                lowest += length
            else:
                yield max(lowest, highest - length + 1), highest
                highest -= length
            # Growing: rare words need few queries, common words end in the first range.
            length *= 2

    def _texts(
        self, session_id: str, condition: str, values: tuple[Column, ...], limit: int
    ) -> list[PastText]:
        rows = self._connection.execute(
            "SELECT id, session_id, role, at, text"  # noqa: S608 - names of ours
            f" FROM {self.layout.texts} AS t WHERE session_id = ? AND {condition} LIMIT ?",
            (session_id, *values, limit),
        )
        return [self._candidate(row).text for row in rows]

    def _count(self, session_id: str, condition: str, value: int) -> int:
        row: tuple[int] = self._connection.execute(
            f"SELECT count(*) FROM {self.layout.texts} WHERE session_id = ? AND {condition}",  # noqa: S608 - names of ours
            (session_id, value),
        ).fetchone()
        return row[0]

    def _candidate(self, row: Row) -> CandidateText:
        number, session_id, role, timestamp, text = row
        past_text = PastText(
            cast("int", number),
            cast("Role", role),
            self._to_datetime(timestamp),
            self.layout.to_text(_to_text(text)),
        )
        return CandidateText(_to_text(session_id), past_text)

    def _past_session(self, row: Row) -> PastSession:
        session_id, title, cwd, started, updated = row
        return PastSession(
            _to_text(session_id),
            self.layout.source,
            _to_text(title),
            _to_text(cwd),
            self._to_datetime(started),
            self._to_datetime(updated),
        )

    def _to_datetime(self, column: Column) -> datetime:
        ticks = column if isinstance(column, int | float) else 0
        seconds = min(max(0, ticks / self.layout.ticks_per_second), _MAX_TIMESTAMP_SECONDS)
        return datetime.fromtimestamp(seconds, UTC)


def _role_in(roles: Sequence[Role]) -> str:
    return f"t.role IN ({', '.join('?' * len(roles))})"


def _to_text(column: Column) -> str:
    """Return a column as text, whatever type it has."""
    if isinstance(column, bytes):
        return repair_surrogates(column.decode(errors="replace"))
    return "" if column is None else str(column)


def _like_patterns(parts: Iterable[str]) -> list[str]:
    """Return patterns for the parts in the usual cases: LIKE only folds the case of ASCII."""
    variants = (variant for part in parts for variant in (part, part.lower(), part.upper()))
    # The escape character itself first, or the later escapes would be escaped again.
    escaped = (each.replace("!", "!!").replace("%", "!%").replace("_", "!_") for each in variants)
    return list(dict.fromkeys(f"%{each}%" for each in escaped))
