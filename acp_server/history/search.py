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
from acp_server.history.search_database import Shelf
from acp_server.history.search_databases import Places, Shelves, opened, unreadable
from acp_server.session.errors import UnknownSessionError
from acp_server.session.ports.session_search import ROLES, Findings, Inquiry, Passage, PastSession

Result = TypeVar("Result")

MOST_AT_ONCE = 2
"""Searches that run at once; further ones wait, so that they occupy no thread."""


class PastSessions:
    """The past sessions of a home directory."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._limiter = CapacityLimiter(MOST_AT_ONCE)

    async def discover(self, inquiry: Inquiry) -> Findings:
        """Return the sessions that match a query."""
        return await self._look(partial(discover, inquiry=inquiry))

    async def scroll(self, session_id: str, text_id: int, window: int) -> Passage:
        """Return a text of a session with `window` texts before it and as many after it."""

        def look(shelves: Shelves) -> Passage:
            shelf, session = _found(shelves, session_id)
            return shelf.around(session, text_id, window, ROLES)

        return await self._look(look)

    async def read(self, session_id: str, most: int) -> Passage:
        """Return a session: its beginning and end, if it has more than `most` texts."""

        def look(shelves: Shelves) -> Passage:
            shelf, session = _found(shelves, session_id)
            return shelf.ends(session, most)

        return await self._look(look)

    async def browse(self, limit: int, excluded_id: str | None = None) -> Sequence[PastSession]:
        """Return the most recently used sessions, newest first."""

        def look(shelves: Shelves) -> Sequence[PastSession]:
            recent = (each for shelf in shelves.all for each in shelf.recent(limit, excluded_id))
            return sorted(recent, key=lambda session: session.updated_at, reverse=True)[:limit]

        return await self._look(look)

    async def identify(self, beginning: str, most: int) -> Sequence[PastSession]:
        """Return sessions by id prefix, this server's first; an exact id matches alone."""

        def look(shelves: Shelves) -> Sequence[PastSession]:
            found = [each for shelf in shelves.all for each in shelf.beginning(beginning, most)]
            itself = [session for session in found if session.id == beginning]
            return itself[:1] or found[:most]

        return await self._look(look)

    async def _look(self, look: Callable[[Shelves], Result]) -> Result:
        """Run an action on the databases in a thread.

        If the caller is cancelled, the thread is abandoned and ends by its own time limit.
        """

        def work() -> Result:
            # Opened in this thread: an SQLite connection belongs to the thread that made it.
            with opened(self._places) as shelves:
                try:
                    return look(shelves)
                except sqlite3.Error as error:
                    raise unreadable(self._places.ours, error) from error

        # A search cannot be interrupted inside SQLite; a cancelled turn should not wait for it.
        return await to_thread.run_sync(work, abandon_on_cancel=True, limiter=self._limiter)


def _found(shelves: Shelves, session_id: str) -> tuple[Shelf, PastSession]:
    """Return a session and its database, this server's first.

    Raises:
        UnknownSessionError: no database has it.
    """
    for shelf in shelves.all:
        session = shelf.session(session_id)
        if session is not None:
            return shelf, session
    raise UnknownSessionError(session_id)
