"""Stored sessions for the CLI commands: finds them by id prefix, deletes and prunes them.

Never creates a database: a HERMES_HOME without one has no sessions.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial, wraps
from pathlib import Path
from typing import ParamSpec

import anyio
import click

from acp_server.cli.async_runner import run_async
from acp_server.history.archive import LazyArchive
from acp_server.history.search import PastSessions
from acp_server.history.search_databases import DatabasePaths
from acp_server.session.errors import SessionError, SessionInUseError
from acp_server.session.ports.archive import SessionArchive, SessionFacts
from acp_server.session.ports.session_search import PastSession

P = ParamSpec("P")
MAX_LISTED_IDS = 5
"""How many ids the error for an ambiguous prefix lists."""


class SessionIdError(SessionError):
    """No session, or more than one, matches an id."""


def reporting_session_errors(
    program: str,
) -> Callable[[Callable[P, Awaitable[int]]], Callable[P, int]]:
    """Make a command of a coroutine function: a session error is printed, with exit code 1."""

    def decorate(command: Callable[P, Awaitable[int]]) -> Callable[P, int]:
        @wraps(command)
        def run(*arguments: P.args, **options: P.kwargs) -> int:
            try:
                return run_async(partial(command, *arguments, **options))
            except SessionError as error:
                click.echo(f"{program}: {error}", err=True)
                return 1

        return run

    return decorate


@dataclass(frozen=True, slots=True)
class PruneResult:
    """Result of pruning: sessions that were deleted and sessions that are in use."""

    deleted: tuple[SessionFacts, ...]
    in_use: tuple[SessionFacts, ...] = ()
    """Sessions that another process has open; they were kept."""


class StoredSessions:
    """Access to the sessions stored in a HERMES_HOME."""

    def __init__(self, home: Path) -> None:
        self.database_paths = DatabasePaths(home / "acp" / "sessions.db", home / "state.db")
        self.past_sessions = PastSessions(self.database_paths)

    async def resolve(self, id_prefix: str) -> PastSession:
        """Return the session with this id or unique id prefix.

        Raises:
            SessionIdError: No session, or more than one, matches.
            ArchiveError: The database cannot be read.
        """
        found: Sequence[PastSession] = ()
        if id_prefix:
            found = await self.past_sessions.find_by_id_prefix(id_prefix, MAX_LISTED_IDS)
        if len(found) == 1:
            return found[0]
        ids = ", ".join(session.id for session in found)
        problem = f"several sessions start with {id_prefix!r}; give more of the ID: {ids}"
        if not found:
            problem = f"no session {id_prefix!r}; run `acp-server sessions list` to see all"
        raise SessionIdError(problem)

    async def list_sessions(
        self, cwd: Path | None = None, limit: int | None = None
    ) -> list[SessionFacts]:
        """Return this server's sessions, most recently used first."""
        found: list[SessionFacts] = []
        async with self.open_archive() as archive:
            cursor: str | None = None
            while archive is not None and (limit is None or len(found) < limit):
                page = await archive.page(None, cursor)
                found += [each for each in page.sessions if cwd is None or each.cwd == cwd]
                cursor = page.cursor
                if cursor is None:
                    break
        return found[:limit]

    async def delete(self, session_id: str) -> None:
        """Delete one of this server's sessions.

        Raises:
            SessionInUseError: Another live process has it open.
            ArchiveError: It cannot be deleted.
        """
        async with self.open_archive() as archive:
            if archive is not None:
                await _delete_session(archive, session_id)

    async def prune(self, before: datetime, cwd: Path | None, *, is_dry_run: bool) -> PruneResult:
        """Delete this server's sessions that were last used before a moment."""
        old = [each for each in await self.list_sessions(cwd) if each.updated_at < before]
        if is_dry_run:
            return PruneResult(tuple(old))
        in_use: list[SessionFacts] = []
        async with self.open_archive() as archive:
            if archive is None:
                return PruneResult(())
            for each in old:
                try:
                    await _delete_session(archive, each.id)
                except SessionInUseError:
                    in_use.append(each)
        return PruneResult(tuple(each for each in old if each not in in_use), tuple(in_use))

    @asynccontextmanager
    async def open_archive(self) -> AsyncGenerator[LazyArchive | None]:
        """Open the archive of this server's sessions; None if there is no database yet.

        Raises:
            ArchiveError: The database cannot be read.
        """
        # Opening an archive moves a damaged database aside and starts a new one. A command that
        # only reads must not do that, so a read-only query comes first: it raises instead.
        await self.past_sessions.browse(1)
        if not self.database_paths.own.exists():
            yield None
            return
        archive = LazyArchive(self.database_paths.own)
        archive.on_problem = lambda problem: click.echo(f"note: {problem}", err=True)
        try:
            yield archive
        finally:
            with anyio.CancelScope(shield=True):
                await archive.close()


async def _delete_session(archive: SessionArchive, session_id: str) -> None:
    await archive.resume(session_id)  # takes the session's lock; fails if another process has it
    await archive.delete(session_id)
