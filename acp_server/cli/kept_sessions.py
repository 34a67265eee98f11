"""The sessions of a home as the commands work with them: found by a part of an id, or by their age.

Prints nothing. A home without a database has no sessions, and none is made to find that out.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import anyio
import click

from acp_server.history.loading import LazyArchive
from acp_server.history.opening import Places
from acp_server.history.search import PastSessions
from acp_server.session.errors import SessionError, SessionInUseError
from acp_server.session.recall import PastSession
from acp_server.session.records import Archive, SessionFacts

MOST_NAMED = 5
"""How many ids are named when one was meant."""


class NoSuchSessionError(SessionError):
    """An id that is no session's, or the beginning of several."""


@dataclass(frozen=True, slots=True)
class Pruned:
    """What became of old sessions."""

    deleted: tuple[SessionFacts, ...]
    in_use: tuple[SessionFacts, ...] = ()
    """Those that another process has; they stay."""


class KeptSessions:
    """The sessions of a home."""

    def __init__(self, home: Path) -> None:
        self.places = Places(home / "acp" / "sessions.db", home / "state.db")
        self.past = PastSessions(self.places)

    async def meant(self, beginning: str) -> PastSession:
        """Return the session of an id, or of the beginning of one.

        Raises:
            NoSuchSessionError: there is none, or more than one.
            ArchiveError: what is kept cannot be read.
        """
        found = await self.past.identify(beginning, MOST_NAMED) if beginning else ()
        if len(found) == 1:
            return found[0]
        if not found:
            problem = f"there is no session {beginning!r}; `acp-server sessions list` shows them"
            raise NoSuchSessionError(problem)
        ids = ", ".join(session.id for session in found)
        problem = f"several sessions begin with {beginning!r}, write more of one: {ids}"
        raise NoSuchSessionError(problem)

    async def all(self, cwd: Path | None = None, most: int | None = None) -> list[SessionFacts]:
        """Return sessions of ours, the one that was last used first."""
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
        """Forget a session of ours.

        Raises:
            SessionInUseError: another process, which is alive, has it.
            ArchiveError: it cannot be deleted.
        """
        async with self.archive() as archive:
            if archive is not None:
                await _forget(archive, session_id)

    async def prune(self, before: datetime, cwd: Path | None, *, is_dry_run: bool) -> Pruned:
        """Forget all sessions of ours that were last used before a moment."""
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
        """Open what keeps our sessions; None if nothing was ever kept.

        Raises:
            ArchiveError: what is kept cannot be read.
        """
        await self.past.browse(1)  # nothing is repaired by a command that only looks
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
    await archive.resume(session_id)  # from here on it is this process's alone
    await archive.delete(session_id)
