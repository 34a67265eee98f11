"""Full-text search in 10,000 stored sessions.

Our own search is measured directly in the history package; words and database are those of
`tests.benchmarks.search`.
"""

import statistics

from acp_server.history.schema import MIGRATIONS
from acp_server.history.search_databases import DatabasePaths
from tests.benchmarks.agent import AgentError
from tests.benchmarks.agent_setup import AgentSetup
from tests.benchmarks.figures import Figures
from tests.benchmarks.peers import CACHE, OWN_AGENT
from tests.benchmarks.search import QUERIES, build, measure

RUNS = 5


class SearchDatabase:
    """Database of many sessions, built once and reused while its schema stays the same."""

    def __init__(self, sessions: int) -> None:
        self._sessions = sessions
        self._path = CACHE / f"search-{sessions}-{len(MIGRATIONS)}.db"

    def measure(self, setup: AgentSetup) -> Figures:
        """Yield the CPU milliseconds of the median and of the slowest search."""
        if setup.peer.name != OWN_AGENT:
            raise AgentError("no search of sessions on the wire")
        if not self._path.exists():
            self._build()
        medians = [
            statistics.median(
                each.cpu_ms for each in measure(DatabasePaths(self._path), query, RUNS)[1]
            )
            for query in QUERIES.values()
        ]
        yield "search-median", statistics.median(medians)
        yield "search-worst", max(medians)

    def _build(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        half = self._path.with_suffix(".half")
        half.unlink(missing_ok=True)
        build(half, self._sessions)
        half.rename(self._path)
