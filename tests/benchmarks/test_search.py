"""The benchmark's database has the tables of today, and words to find."""

from pathlib import Path

from acp_server.history.search_databases import DatabasePaths
from tests.benchmarks.search import QUERIES, build, measure

NOWHERE = {"a word that is nowhere", "a sign, in the newest 20,000"}


def test_the_queries_find_sessions_of_a_small_database(tmp_path: Path) -> None:
    path = tmp_path / "sessions.db"
    build(path, 20)
    found = {
        name: len(measure(DatabasePaths(path), query, 1)[0].hits) for name, query in QUERIES.items()
    }
    assert {name for name, count in found.items() if not count} == NOWHERE
