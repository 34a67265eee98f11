"""Search over past sessions: the adapter of the port `session.ports.session_search`.

Reads this server's database and, if it exists, the one of Hermes in the same home directory, in a
thread. Whole words are searched first; if they lead to fewer sessions than wanted, parts of words
are too. For a common word only the newest texts are ranked (`search_database.MAX_CANDIDATES`).
"""

import sqlite3
from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

from anyio import CapacityLimiter, to_thread

from acp_server.history.discovery import discover
from acp_server.history.search_database import HistoryDatabase
from acp_server.history.search_databases import (
    DatabasePaths,
    HistoryDatabases,
    open_databases,
    to_archive_error,
)
from acp_server.session.errors import UnknownSessionError
from acp_server.session.ports.session_search import (
    ROLES,
    PastSession,
    SessionExcerpt,
    SessionQuery,
    SessionSearchResults,
)

Result = TypeVar("Result")

MAX_CONCURRENT_SEARCHES = 2
"""Searches that run at once; further ones wait, so that they occupy no thread."""


class PastSessions:
    """The past sessions of a home directory."""

    def __init__(self, paths: DatabasePaths) -> None:
        self._paths = paths
        self._limiter = CapacityLimiter(MAX_CONCURRENT_SEARCHES)

    async def search(self, request: SessionQuery) -> SessionSearchResults:
        """Return the sessions that match a query."""
        return await self._run_search(partial(discover, request=request))

    async def scroll(self, session_id: str, text_id: int, window: int) -> SessionExcerpt:
        """Return a text of a session with `window` texts before it and as many after it."""

        def read_excerpt(databases: HistoryDatabases) -> SessionExcerpt:
            database, session = _find_session(databases, session_id)
            return database.texts_around(session, text_id, window, ROLES)

        return await self._run_search(read_excerpt)

    async def read(self, session_id: str, max_texts: int) -> SessionExcerpt:
        """Return a session: its beginning and end, if it has more than `max_texts` texts."""

        def read_excerpt(databases: HistoryDatabases) -> SessionExcerpt:
            database, session = _find_session(databases, session_id)
            return database.first_and_last_texts(session, max_texts)

        return await self._run_search(read_excerpt)

    async def browse(self, limit: int, excluded_id: str | None = None) -> Sequence[PastSession]:
        """Return the most recently used sessions, newest first."""

        def list_recent(databases: HistoryDatabases) -> Sequence[PastSession]:
            recent = (
                each
                for database in databases.databases
                for each in database.recent_sessions(limit, excluded_id)
            )
            return sorted(recent, key=lambda session: session.updated_at, reverse=True)[:limit]

        return await self._run_search(list_recent)

    async def find_by_id_prefix(self, prefix: str, limit: int) -> Sequence[PastSession]:
        """Return sessions by id prefix, this server's first; an exact id matches alone."""

        def find(databases: HistoryDatabases) -> Sequence[PastSession]:
            found = [
                each
                for database in databases.databases
                for each in database.find_by_id_prefix(prefix, limit)
            ]
            exact = [session for session in found if session.id == prefix]
            return exact[:1] or found[:limit]

        return await self._run_search(find)

    async def _run_search(self, action: Callable[[HistoryDatabases], Result]) -> Result:
        """Run an action on the databases in a thread.

        If the caller is cancelled, the thread is abandoned and ends by its own time limit.
        """

        def run() -> Result:
            # Opened in this thread: an SQLite connection belongs to the thread that made it.
            with open_databases(self._paths) as databases:
                try:
                    return action(databases)
                except sqlite3.Error as error:
                    raise to_archive_error(self._paths.own, error) from error

        # A search cannot be interrupted inside SQLite; a cancelled turn should not wait for it.
        return await to_thread.run_sync(run, abandon_on_cancel=True, limiter=self._limiter)


def _find_session(
    databases: HistoryDatabases, session_id: str
) -> tuple[HistoryDatabase, PastSession]:
    """Return a session and its database, this server's first.

    Raises:
        UnknownSessionError: no database has it.
    """
    for database in databases.databases:
        session = database.find_session(session_id)
        if session is not None:
            return database, session
    raise UnknownSessionError(session_id)
