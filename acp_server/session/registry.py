"""All open sessions of this process, by id."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path

import anyio

from acp_server.frozen import frozen
from acp_server.session.equipment import Equipment, Past, Workspace, fresh
from acp_server.session.errors import InvalidRootError, UnknownSessionError
from acp_server.session.records import Archive, Page, StoredSession
from acp_server.session.replay import closed, events_of, mended
from acp_server.session.server_configs import ServerConfig
from acp_server.session.session import Session

FIRST_PROMPT_SECONDS = 2.0
"""How long a prompt that was sent at once keeps us from asking which models there are."""


@frozen
class Reopened:
    """A session that was taken up again, and what is kept of it."""

    session: Session
    stored: StoredSession


class SessionRegistry:
    """Opens, finds and closes sessions."""

    def __init__(self, equipment: Equipment) -> None:
        self._equipment = equipment
        self._sessions: dict[str, Session] = {}
        self._reopening = anyio.Lock()
        """One session is taken up at a time: a second request for it finds it open."""

    async def open(
        self, cwd: str, additional: Sequence[str], servers: Sequence[ServerConfig] = ()
    ) -> Session:
        """Open a session in a workspace, with MCP servers that its editor names.

        Raises:
            InvalidRootError: a folder is not absolute, or `cwd` is no folder.
        """
        workspace = await _workspace(cwd, additional)
        session = Session(workspace, self._equipment, servers=servers)
        self._sessions[session.id] = session
        return session

    async def reopen(
        self,
        session_id: str,
        cwd: str,
        additional: Sequence[str],
        servers: Sequence[ServerConfig] = (),
    ) -> Reopened:
        """Take a kept session up again, in the workspace and with the servers of the request.

        One that is open here and works goes on as it is; one that rests is opened anew.

        Raises:
            UnknownSessionError: there is none of this id.
            SessionInUseError: another process has it.
            ArchiveError: what is kept cannot be read.
            InvalidRootError: a folder is not absolute, or `cwd` is no folder.
        """
        workspace = await _workspace(cwd, additional)
        async with self._reopening:
            present = self._sessions.get(session_id)
            if present is not None and not present.is_idle:
                return Reopened(present, await self._archive.read(session_id))
            # A session that is open here has its journal already; what fails leaves it as it is.
            journal = await self._archive.resume(session_id)
            stored = await self._archive.read(session_id)
            if present is not None and not present.is_idle:  # a prompt has come meanwhile
                return Reopened(present, stored)
            if present is not None:
                await present.end_work()
            messages = mended(stored)
            for message in messages[len(stored.messages) :]:
                journal.append(message)
            journal.end_turn()
            past = Past(stored.facts, messages, journal)
            session = Session(workspace, self._equipment, past, servers)
            self._sessions[session_id] = session
        return Reopened(session, stored)

    async def fork(
        self,
        session_id: str,
        cwd: str,
        additional: Sequence[str],
        servers: Sequence[ServerConfig] = (),
    ) -> Session:
        """Open a session that goes on from what is kept of another one, which stays as it is.

        Raises:
            UnknownSessionError: there is none of this id.
            ArchiveError: what is kept cannot be read.
            InvalidRootError: a folder is not absolute, or `cwd` is no folder.
        """
        workspace = await _workspace(cwd, additional)
        stored = await self._archive.read(session_id)
        facts = fresh(stored.facts, workspace)
        messages, journal = mended(stored), self._archive.create(facts)
        for shown in events_of(closed(stored), shows_terminals=True):
            journal.show(shown)
        for message in messages:
            journal.append(message)
        session = Session(workspace, self._equipment, Past(facts, messages, journal), servers)
        self._sessions[session.id] = session
        return session

    async def page(self, cwd: str | None, cursor: str | None) -> Page:
        """Return kept sessions, of one folder or of all, the one that was last used first.

        Raises:
            InvalidRootError: the folder is not absolute.
            InvalidCursorError: the cursor was not given out.
            ArchiveError: what is kept cannot be read.
        """
        return await self._archive.page(None if cwd is None else _absolute(cwd), cursor)

    async def delete(self, session_id: str) -> None:
        """Forget a session for good, open or not; one that is not there needs nothing."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.close()
        await self._archive.delete(session_id)

    @property
    def _archive(self) -> Archive:
        return self._equipment.archive

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._sessions.values()))

    async def warm_up(self, session: Session, lull: Callable[[], Awaitable[None]]) -> None:
        """Get ready for a session's first prompt while nobody waits for it.

        Opens what keeps it, makes its tools, and learns which models can be had: takes long, and
        may fail quietly. Each step begins with a `lull`; a prompt that comes meanwhile takes those
        that it needs itself.
        """
        await lull()
        await session.chronicle.commit()  # first: lists and loads wait for what it opens
        await lull()
        await session.prepare()
        await lull()
        await session.gather()
        await lull()
        with anyio.move_on_after(FIRST_PROMPT_SECONDS):  # else it would have to share with this
            await session.wait_until_idle()
        await self._equipment.catalog.refresh()

    def get(self, session_id: str) -> Session | None:
        """Return an open session, if there is one of this id."""
        return self._sessions.get(session_id)

    def find(self, session_id: str) -> Session:
        """Return an open session.

        Raises:
            UnknownSessionError: there is none of this id.
        """
        session = self._sessions.get(session_id)
        if session is None:
            raise UnknownSessionError(session_id)
        return session

    def cancel(self, session_id: str) -> None:
        """Cancel a session's work; nothing happens when there is none."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.cancel()

    def remove(self, session_id: str) -> Session:
        """Forget a session and return it, for its work to be ended.

        Raises:
            UnknownSessionError: there is none of this id.
        """
        session = self.find(session_id)
        del self._sessions[session_id]
        return session

    async def end_turns(self) -> None:
        """Cancel every session's work and wait for its end."""
        sessions = tuple(self._sessions.values())
        for session in sessions:
            session.cancel()
        for session in sessions:
            await session.wait_until_idle()

    async def close(self, patience_seconds: float) -> None:
        """End every session, with all that its tools left running, and what they shared.

        Whatever does not end in time is left to whoever watches over commands.
        """
        with anyio.move_on_after(patience_seconds, shield=True):
            async with anyio.create_task_group() as closing:
                for session in self._sessions.values():
                    closing.start_soon(session.close)
        with anyio.CancelScope(shield=True):
            await self._archive.close()
            if self._equipment.close is not None:
                await self._equipment.close()


async def _workspace(cwd: str, additional: Sequence[str]) -> Workspace:
    return Workspace(await _folder(cwd), tuple(_absolute(root) for root in additional))


def _absolute(path: str) -> Path:
    if "\0" in path or not Path(path).is_absolute():
        message = f"{path!r} is not an absolute path; send the workspace folder's full path"
        raise InvalidRootError(message)
    return Path(path)


async def _folder(path: str) -> Path:
    folder = _absolute(path)
    try:
        is_folder = await anyio.Path(folder).is_dir()
    except OSError as error:
        message = f"{path!r} cannot be looked at: {error.strerror}"
        raise InvalidRootError(message) from error
    if not is_folder:
        message = f"{path!r} is not a folder; send a workspace folder that exists"
        raise InvalidRootError(message)
    return folder
