"""The facts of the local memory, in a SQLite database with full-text search.

Ranking: words by BM25, raised by the things that query and fact both name, by how lately the fact
was said, by who said it, and by the workspace. Several processes may share the file. Blocks.
"""

import sqlite3
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

from acp_server.memory.local.extraction import (
    Statement,
    find_query_words,
    find_things,
    fold,
    split_cjk,
)
from acp_server.startup.fast_dataclass import frozen_dataclass

FactSource = Literal["stored", "memory", "hermes", "user", "assistant"]
SOURCE_WEIGHTS: dict[FactSource, float] = {
    "stored": 1.3,  # by the tool, because it lasts
    "memory": 1.2,  # from MEMORY.md and USER.md
    "hermes": 1.2,
    "user": 1.0,
    "assistant": 0.75,
}
MAX_FACTS = 50_000
"""Above this, what was only said is forgotten, the oldest first."""
MAX_CANDIDATES = 80
BUSY_SECONDS = 1.5
HALF_LIFE_DAYS = 120.0
LEAST_RECENCY = 0.7
"""What the rank of a fact of long ago is multiplied by."""
THING_BONUS = 0.35
WORKSPACE_BONUS = 1.15
LEAST_SHARE = 0.3
"""Facts that rank lower than this share of the best one are left out."""
DAY_SECONDS = 86_400.0

_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (
  id INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE,
  source TEXT NOT NULL,
  workspace TEXT NOT NULL,
  session TEXT NOT NULL,
  said_at REAL NOT NULL
);
CREATE TABLE IF NOT EXISTS things (
  name TEXT NOT NULL,
  fact INTEGER NOT NULL REFERENCES facts(id) ON DELETE CASCADE,
  PRIMARY KEY (name, fact)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS things_fact ON things(fact);
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(text, tokenize='porter unicode61');
PRAGMA user_version = 1;
"""


@frozen_dataclass
class Fact:
    """A stored fact."""

    id: int
    text: str
    source: FactSource
    workspace: str
    """The directory of the session it is from."""
    said_at: float
    """In seconds since 1970."""
    rank: float = 0.0


class FactStore:
    """The database of one home."""

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        """Prepare; the file is created at the first use."""
        self.path = path
        self._now = now

    def add(
        self,
        statements: Iterable[Statement],
        source: FactSource,
        workspace: str = "",
        session: str = "",
        said_at: float | None = None,
    ) -> Sequence[int]:
        """Store facts and return their ids; one that is known becomes as new as this.

        Raises:
            sqlite3.Error: the database cannot be written.
        """
        when = self._now() if said_at is None else said_at
        with self._connect() as database:
            ids = [_add(database, each, (source, workspace, session, when)) for each in statements]
            _forget_oldest(database)
        return ids

    def remove(self, fact_id: int) -> str | None:
        """Forget a fact; return its text, or None if there is none with this id."""
        with self._connect() as database:
            row = database.execute("SELECT text FROM facts WHERE id = ?", (fact_id,)).fetchone()
            _delete(database, [fact_id] if row else [])
        return str(row[0]) if row else None

    def remove_texts(self, texts: Iterable[str]) -> None:
        """Forget the facts with these texts."""
        with self._connect() as database:
            for text in texts:
                row = database.execute("SELECT id FROM facts WHERE text = ?", (text,)).fetchone()
                _delete(database, [int(row[0])] if row else [])

    def replace_all(self, source: FactSource, facts: Iterable[tuple[str, float]]) -> None:
        """Have exactly these facts, with the times they were said at, from a source."""
        with self._connect() as database:
            rows = database.execute("SELECT text, id FROM facts WHERE source = ?", (source,))
            known = {str(text): int(fact_id) for text, fact_id in rows}
            for text, said_at in facts:
                if known.pop(text, None) is None:
                    statement = Statement(text, find_things(text))
                    _add(database, statement, (source, "", "", said_at))
            _delete(database, known.values())

    def count(self) -> int:
        """Return how many facts there are."""
        with self._connect() as database:
            return int(database.execute("SELECT count(*) FROM facts").fetchone()[0])

    def frequent_things(self, workspace: str, limit: int) -> Sequence[str]:
        """Return the names that most facts of a workspace hold."""
        query = """
            SELECT name FROM things JOIN facts ON facts.id = fact
            WHERE workspace IN (?, '') GROUP BY name HAVING count(*) > 1
            ORDER BY count(*) DESC, name LIMIT ?
        """
        with self._connect() as database:
            return [str(name) for (name,) in database.execute(query, (workspace, limit))]

    def search(
        self, query: str, limit: int, workspace: str = "", except_session: str = ""
    ) -> Sequence[Fact]:
        """Return the facts that fit a query, the best first.

        `except_session` is the session that asks: what was said in it, the model has seen.
        """
        words, things = find_query_words(query), frozenset(find_things(query))
        if not words:
            return ()
        with self._connect() as database:
            candidates = _find_candidates(database, words, things, except_session)
            named = {
                fact_id: things.intersection(_things_of(database, fact_id))
                for fact_id in candidates
            }
        ranked = [
            self._rank(row, score, named[fact_id], workspace)
            for fact_id, (row, score) in candidates.items()
        ]
        ranked.sort(key=lambda fact: (-fact.rank, -fact.said_at))
        best = ranked[0].rank if ranked else 0.0
        return [fact for fact in ranked if fact.rank >= best * LEAST_SHARE][:limit]

    def _rank(self, row: sqlite3.Row, score: float, named: frozenset[str], workspace: str) -> Fact:
        source: FactSource = row["source"]
        said_at = float(row["said_at"])
        age_days = max(self._now() - said_at, 0.0) / DAY_SECONDS
        recency = LEAST_RECENCY + (1 - LEAST_RECENCY) * 0.5 ** (age_days / HALF_LIFE_DAYS)
        place = WORKSPACE_BONUS if workspace and row["workspace"] == workspace else 1.0
        rank = score * recency * place * SOURCE_WEIGHTS[source] * (1 + THING_BONUS * len(named))
        return Fact(int(row["id"]), str(row["text"]), source, str(row["workspace"]), said_at, rank)

    @contextmanager
    def _connect(self) -> Generator[sqlite3.Connection]:
        """Open the database for one call; commit if it succeeds."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not self.path.exists()
        with closing(sqlite3.connect(self.path, timeout=BUSY_SECONDS)) as database:
            if is_new:
                self.path.chmod(0o600)
            database.row_factory = sqlite3.Row
            database.execute("PRAGMA foreign_keys = ON")
            if database.execute("PRAGMA user_version").fetchone()[0] < 1:
                database.executescript(_SCHEMA)
            with database:
                yield database


def _add(
    database: sqlite3.Connection, statement: Statement, origin: tuple[FactSource, str, str, float]
) -> int:
    source, workspace, session, said_at = origin
    row = database.execute(
        "SELECT id, source FROM facts WHERE text = ?", (statement.text,)
    ).fetchone()
    if row is not None:
        # Of two sources, the one that weighs more.
        known: FactSource = row["source"]
        better = source if SOURCE_WEIGHTS[source] > SOURCE_WEIGHTS[known] else known
        database.execute(
            "UPDATE facts SET said_at = max(said_at, ?), source = ?, session = ? WHERE id = ?",
            (said_at, better, session, row["id"]),
        )
        return int(row["id"])
    cursor = database.execute(
        "INSERT INTO facts (text, source, workspace, session, said_at) VALUES (?, ?, ?, ?, ?)",
        (statement.text, source, workspace, session, said_at),
    )
    fact_id = int(cursor.lastrowid or 0)
    indexed = split_cjk(fold(statement.text))
    database.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (fact_id, indexed))
    database.executemany(
        "INSERT OR IGNORE INTO things (name, fact) VALUES (?, ?)",
        [(name, fact_id) for name in statement.things],
    )
    return fact_id


def _delete(database: sqlite3.Connection, ids: Iterable[int]) -> None:
    rows = [(fact_id,) for fact_id in ids]
    database.executemany("DELETE FROM words WHERE rowid = ?", rows)
    database.executemany("DELETE FROM facts WHERE id = ?", rows)


def _forget_oldest(database: sqlite3.Connection) -> None:
    surplus = int(database.execute("SELECT count(*) FROM facts").fetchone()[0]) - MAX_FACTS
    if surplus > 0:
        query = """
            SELECT id FROM facts WHERE source IN ('user', 'assistant') ORDER BY said_at LIMIT ?
        """
        _delete(database, [int(row[0]) for row in database.execute(query, (surplus,)).fetchall()])


def _find_candidates(
    database: sqlite3.Connection,
    words: Sequence[str],
    things: frozenset[str],
    except_session: str,
) -> dict[int, tuple[sqlite3.Row, float]]:
    """Return facts with any of the words, or that name one of the things, with a score > 0."""
    # Quoted: a query is never FTS syntax.
    match = " OR ".join(f'"{word}"' for word in words)
    query = """
        SELECT facts.*, -bm25(words) AS score FROM words JOIN facts ON facts.id = words.rowid
        WHERE words MATCH ?
            AND (session = '' OR session != ? OR source NOT IN ('user', 'assistant'))
        ORDER BY bm25(words) LIMIT ?
    """
    rows = database.execute(query, (match, except_session, MAX_CANDIDATES)).fetchall()
    # BM25 of a word that most facts have is about zero.
    found = {int(row["id"]): (row, max(float(row["score"]), 1e-6)) for row in rows}
    least = min((score for _, score in found.values()), default=1.0)
    marks = ", ".join("?" * len(things))
    # Names are data of parameters; only their number is in the statement.
    query = f"""
        SELECT facts.* FROM things JOIN facts ON facts.id = things.fact
        WHERE things.name IN ({marks})
            AND (session = '' OR session != ? OR source NOT IN ('user', 'assistant'))
        ORDER BY said_at DESC LIMIT ?
    """  # noqa: S608
    for row in database.execute(query, (*things, except_session, MAX_CANDIDATES)):
        found.setdefault(int(row["id"]), (row, least))
    return found


def _things_of(database: sqlite3.Connection, fact_id: int) -> Sequence[str]:
    rows = database.execute("SELECT name FROM things WHERE fact = ?", (fact_id,))
    return [str(name) for (name,) in rows]
