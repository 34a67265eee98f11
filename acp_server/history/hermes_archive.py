"""The archive of a home, with the ACP sessions of Hermes in it.

They are listed among this server's own and read from Hermes' database. One that is opened is copied
under its id, and is a session of this server from then on.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from anyio import to_thread

from acp_server.history.archive import LazyArchive, SessionJournal
from acp_server.session.errors import UnknownSessionError
from acp_server.session.ports.archive import (
    ForkedSession,
    SessionFacts,
    SessionPage,
    SessionState,
    StoredSession,
)
from acp_server.session.replay import record_copy, session_state
from skills_store.atomic import write_atomically
from skills_store.locks import locked

if TYPE_CHECKING:
    from acp_server.history.hermes_sessions import HermesSessions


class HermesArchive(LazyArchive):
    """The archive of all sessions of a home directory, and Hermes' sessions behind it."""

    def __init__(self, home: Path) -> None:
        """Set up without reading or importing."""
        super().__init__(home / "acp" / "sessions.db")
        self._database = home / "state.db"
        self._hidden = home / "acp" / "hidden_sessions.json"
        """Ids of Hermes' sessions that the user deleted here."""

    async def read(self, session_id: str) -> StoredSession:
        """Return a stored session."""
        try:
            return await super().read(session_id)
        except UnknownSessionError:
            return await self._read_hermes(session_id)

    async def read_state(self, session_id: str) -> SessionState:
        """Return the state to continue a session from."""
        try:
            return await super().read_state(session_id)
        except UnknownSessionError:
            return session_state(await self._read_hermes(session_id))

    async def fork(
        self, session_id: str, change_facts: Callable[[SessionFacts], SessionFacts]
    ) -> ForkedSession:
        """Copy a session; one of Hermes is recorded as a new one."""
        try:
            return await super().fork(session_id, change_facts)
        except UnknownSessionError:
            stored = await self._read_hermes(session_id)
        state = session_state(stored)
        facts = change_facts(state.facts)
        journal = self.create(facts)
        record_copy(stored, journal)
        return ForkedSession(journal, replace(state, facts=facts))

    async def resume(self, session_id: str) -> SessionJournal:
        """Continue to save a session; one of Hermes is copied first."""
        try:
            return await super().resume(session_id)
        except UnknownSessionError:
            stored = await self._read_hermes(session_id)
        journal = self.create(stored.facts)
        record_copy(stored, journal)
        await journal.commit()
        return journal

    async def page(self, cwd: Path | None, cursor: str | None) -> SessionPage:
        """Return fifty sessions of both, the last used first."""
        own = await super().page(cwd, cursor)
        if not await to_thread.run_sync(self._database.is_file):
            return own
        known = await self.ask(lambda writer: writer.stored_ids())
        find = partial(self._merge, own, cwd, cursor, known)
        return await to_thread.run_sync(find)

    async def delete(self, session_id: str) -> None:
        """Delete a session; one of Hermes is only hidden here."""
        await super().delete(session_id)
        if await to_thread.run_sync(self._database.is_file):
            await to_thread.run_sync(self._hide, session_id)

    async def _read_hermes(self, session_id: str) -> StoredSession:
        def read() -> StoredSession:
            if session_id in self._hidden_ids():
                raise UnknownSessionError(session_id)
            return self._open().read(session_id)

        return await to_thread.run_sync(read)

    def _merge(
        self, own: SessionPage, cwd: Path | None, cursor: str | None, known: frozenset[str]
    ) -> SessionPage:
        from acp_server.history.rows import time_to_column
        from acp_server.history.session_reads import PAGE_SIZE, decode_cursor, encode_cursor

        def position(facts: SessionFacts) -> tuple[int, str]:
            return time_to_column(facts.updated_at), facts.id

        before = None if cursor is None else decode_cursor(cursor)
        left_out = known | self._hidden_ids()
        others = [
            facts
            for facts in self._open().list()
            if facts.id not in left_out
            and (cwd is None or facts.cwd == cwd)
            and (before is None or position(facts) < before)
        ]
        merged = sorted((*own.sessions, *others), key=position, reverse=True)
        found = tuple(merged[:PAGE_SIZE])
        if own.cursor is None and len(merged) <= PAGE_SIZE:
            return SessionPage(found)
        return SessionPage(found, encode_cursor(*position(found[-1])))

    def _open(self) -> "HermesSessions":
        from acp_server.history.hermes_sessions import HermesSessions

        return HermesSessions(self._database)

    def _hidden_ids(self) -> frozenset[str]:
        try:
            found: object = json.loads(self._hidden.read_bytes())
        except (OSError, ValueError, RecursionError):
            return frozenset()
        ids: Sequence[object] = cast("list[object]", found) if isinstance(found, list) else []
        return frozenset(each for each in ids if isinstance(each, str))

    def _hide(self, session_id: str) -> None:
        if all(each.id != session_id for each in self._open().list()):
            return
        self._hidden.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with locked(self._hidden):
            ids = sorted({*self._hidden_ids(), session_id})
            write_atomically(self._hidden, json.dumps(ids).encode())
