"""Stored sessions for the CLI commands: finds them by id prefix, deletes and prunes them.

Never creates a database: a HERMES_HOME without one has no sessions.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import anyio
import click

from acp_server.history.archive import LazyArchive
from acp_server.history.search import PastSessions
from acp_server.history.search_databases import Places
from acp_server.session.errors import SessionError, SessionInUseError
from acp_server.session.ports.archive import Archive, SessionFacts
from acp_server.session.ports.session_search import PastSession

MOST_NAMED = 5
"""How many ids the error for an ambiguous prefix lists."""


class NoSuchSessionError(SessionError):
    """No session, or more than one, matches an id."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """Result of pruning: sessions that were deleted and sessions that are in use."""

    deleted: tuple[SessionFacts, ...]
    in_use: tuple[SessionFacts, ...] = ()
    """Sessions that another process has open; they were kept."""


class KeptSessions:
    """Access to the sessions stored in a HERMES_HOME."""

    def __init__(self, home: Path) -> None:
        self.places = Places(home / "acp" / "sessions.db", home / "state.db")
        self.past = PastSessions(self.places)

    async def meant(self, beginning: str) -> PastSession:
        """Return the session with this id or unique id prefix.

        Raises:
            NoSuchSessionError: No session, or more than one, matches.
            ArchiveError: The database cannot be read.
        """
        found = await self.past.identify(beginning, MOST_NAMED) if beginning else ()
        if len(found) == 1:
            return found[0]
        if not found:
            problem = f"no session {beginning!r}; run `acp-server sessions list` to see all"
            raise NoSuchSessionError(problem)
        ids = ", ".join(session.id for session in found)
        problem = f"several sessions start with {beginning!r}; give more of the ID: {ids}"
        raise NoSuchSessionError(problem)

    async def all(self, cwd: Path | None = None, most: int | None = None) -> list[SessionFacts]:
        """Return this server's sessions, most recently used first."""
        found: list[SessionFacts] = []
        async with self.archive() as archive:
            cursor: str | None = None
            while archive is not None and (most is None or len(found) < most):
                page = await archive.page(None, cursor)
                found += [each for each in page.sessions if cwd is None or each.cwd == cwd]
                cursor = page.cursor
                if cursor is None:
                    break
        return found[:most]

    async def delete(self, session_id: str) -> None:
        """Delete one of this server's sessions.

        Raises:
            SessionInUseError: Another live process has it open.
            ArchiveError: It cannot be deleted.
        """
        async with self.archive() as archive:
            if archive is not None:
                await _forget(archive, session_id)

    async def prune(self, before: datetime, cwd: Path | None, *, is_dry_run: bool) -> Pruned:
        """Delete this server's sessions that were last used before a moment."""
        old = [each for each in await self.all(cwd) if each.updated_at < before]
        if is_dry_run:
            return Pruned(tuple(old))
        in_use: list[SessionFacts] = []
        async with self.archive() as archive:
            if archive is None:
                return Pruned(())
            for each in old:
                try:
                    await _forget(archive, each.id)
                except SessionInUseError:
                    in_use.append(each)
        return Pruned(tuple(each for each in old if each not in in_use), tuple(in_use))

    @asynccontextmanager
    async def archive(self) -> AsyncGenerator[LazyArchive | None]:
        """Open the archive of this server's sessions; None if there is no database yet.

        Raises:
            ArchiveError: The database cannot be read.
        """
        # Opening an archive moves a damaged database aside and starts a new one. A command that
        # only reads must not do that, so a read-only query comes first: it raises instead.
        await self.past.browse(1)
        if not self.places.ours.exists():
            yield None
            return
        archive = LazyArchive(self.places.ours)
        archive.on_problem = lambda problem: click.echo(f"note: {problem}", err=True)
        try:
            yield archive
        finally:
            with anyio.CancelScope(shield=True):
                await archive.close()


async def _forget(archive: Archive, session_id: str) -> None:
    await archive.resume(session_id)  # takes the session's lock; fails if another process has it
    await archive.delete(session_id)
