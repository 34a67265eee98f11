"""All open sessions of this process, by id."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio

from acp_server.session.builder import build_session
from acp_server.session.errors import EmptyTitleError, InvalidRootError, UnknownSessionError
from acp_server.session.ports.archive import (
    HistoryPage,
    Journal,
    SessionArchive,
    SessionPage,
    SessionState,
)
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.observer import ObserverFactory, unobserved
from acp_server.session.recorder import clean_title
from acp_server.session.replay import missing_messages
from acp_server.session.services import SessionServices, SessionSnapshot, forked_facts
from acp_server.session.session import Session
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.fast_dataclass import frozen_dataclass

FIRST_PROMPT_SECONDS = 2.0
"""How long an immediate first prompt may delay loading the model list."""


@frozen_dataclass
class Reopened:
    """A reopened session, and its history up to then."""

    session: Session
    history: AsyncIterator[HistoryPage]
    """Read while it is iterated, a bounded part at a time."""


class SessionRegistry:
    """Opens, finds and closes sessions."""

    def __init__(
        self, services: SessionServices, sessions: dict[str, Session] | None = None
    ) -> None:
        """Start; `sessions` is filled with the open sessions, for those who only look at them."""
        self._services = services
        self._sessions = {} if sessions is None else sessions
        self._reopen_lock = anyio.Lock()
        """Sessions are reopened one at a time: a second request for the same session finds it
        open."""

    async def open(
        self,
        cwd: str,
        additional: Sequence[str],
        servers: Sequence[ServerConfig] = (),
        observe: ObserverFactory = unobserved,
    ) -> Session:
        """Open a new session in a workspace, with the MCP servers that the editor names.

        `observe` creates the observer that shows the session's own changes to the client.

        Raises:
            InvalidRootError: a path is not absolute, or `cwd` is not a directory.
        """
        workspace = await _resolve_workspace(cwd, additional)
        session = build_session(workspace, self._services, servers=servers, observe=observe)
        self._sessions[session.id] = session
        return session

    async def reopen(
        self,
        session_id: str,
        cwd: str,
        additional: Sequence[str],
        servers: Sequence[ServerConfig] = (),
        observe: ObserverFactory = unobserved,
    ) -> Reopened:
        """Open a stored session in the workspace and with the servers of the request.

        A session that is already open here and busy stays as it is; an idle one is opened again.

        Raises:
            UnknownSessionError: there is no such session.
            SessionInUseError: another process has it open.
            ArchiveError: the stored session cannot be read.
            InvalidRootError: a path is not absolute, or `cwd` is not a directory.
        """
        workspace = await _resolve_workspace(cwd, additional)
        async with self._reopen_lock:
            open_session = self._sessions.get(session_id)
            if open_session is not None and not open_session.is_idle:
                # Busy: opening it again would cut the running prompt off.
                return Reopened(open_session, self._archive.history(session_id))
            # For a session that is open here, `resume` returns its journal. Nothing has changed
            # yet, so an error leaves the open session intact.
            journal = await self._archive.resume(session_id)
            state = await self._archive.read_state(session_id)
            # Not what a prompt shows that comes before the replay ends: the client sees it live.
            history = self._archive.history(session_id, state.last_entry)
            # Checked again: a prompt may have arrived during the awaits, and must not be cut off.
            if open_session is not None and not open_session.is_idle:
                return Reopened(open_session, history)
            # `end_work`, not `close`: the new session continues with the same journal.
            if open_session is not None:
                await open_session.end_work()
            snapshot = _snapshot(state, journal)
            # The repair completes the interrupted turn; without this it would be repaired again.
            if state.is_turn_open:
                journal.end_turn()
            session = build_session(workspace, self._services, snapshot, servers, observe)
            self._sessions[session_id] = session
        return Reopened(session, history)

    async def fork(
        self,
        session_id: str,
        cwd: str,
        additional: Sequence[str],
        servers: Sequence[ServerConfig] = (),
        observe: ObserverFactory = unobserved,
    ) -> Session:
        """Open a new session with the stored contents of another one, which stays unchanged.

        Raises:
            UnknownSessionError: there is no such session.
            ArchiveError: the stored session cannot be read.
            InvalidRootError: a path is not absolute, or `cwd` is not a directory.
        """
        workspace = await _resolve_workspace(cwd, additional)
        forked = await self._archive.fork(session_id, partial(forked_facts, workspace=workspace))
        # What rewinds removed stays with the original.
        snapshot = replace(_snapshot(forked.state, forked.journal), removed_messages={})
        session = build_session(workspace, self._services, snapshot, servers, observe)
        self._sessions[session.id] = session
        return session

    async def page(self, cwd: str | None, cursor: str | None) -> SessionPage:
        """Return stored sessions, of one directory or of all, most recently used first.

        Raises:
            InvalidRootError: the path is not absolute.
            InvalidCursorError: no page returned this cursor.
            ArchiveError: stored sessions cannot be read.
        """
        return await self._archive.page(None if cwd is None else _require_absolute(cwd), cursor)

    async def set_title(self, session_id: str, title: str) -> str:
        """Name a session, open or only stored; return the title once it is stored.

        Raises:
            EmptyTitleError: nothing of the title remains.
            UnknownSessionError: there is no such session.
            SessionInUseError: another process has it open.
            ArchiveError: it cannot be read.
        """
        chosen = clean_title(title)
        if not chosen:
            raise EmptyTitleError
        async with self._reopen_lock:
            session = self._sessions.get(session_id)
            if session is not None:
                session.context.recorder.set_title(chosen)
                await session.context.recorder.commit()
                return chosen
            journal = await self._archive.resume(session_id)
            try:
                stored = await self._archive.read_state(session_id)
                journal.update(replace(stored.facts, title=chosen))
                await journal.commit()
            finally:
                await journal.close()
        return chosen

    async def delete(self, session_id: str) -> None:
        """Delete a session permanently, open or not; does nothing if it does not exist."""
        # Removed first, so that no request finds the session while it is being closed.
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.close()
        await self._archive.delete(session_id)

    @property
    def storage_problem(self) -> str | None:
        """Message to the user while sessions cannot be saved; None while they can be."""
        return self._archive.problem

    def store_again(self, session_id: str) -> None:
        """Store an open session once more: what was stored of it is lost."""
        session = self._sessions.get(session_id)
        if session is not None:
            context = session.context
            context.recorder.store_again(tuple(context.conversation))

    @property
    def _archive(self) -> SessionArchive:
        return self._services.archive

    def __iter__(self) -> Iterator[Session]:
        # A copy: sessions may be opened and closed while the caller awaits in its loop.
        return iter(tuple(self._sessions.values()))

    async def warm_up(self, session: Session, wait_idle: Callable[[], Awaitable[None]]) -> None:
        """Prepare for a session's first prompt while the client is idle.

        Opens the journal, builds the tools, announces the commands and loads the model list: slow
        steps that may fail silently. Each step waits for a `wait_idle`; a prompt that arrives
        meanwhile runs the steps that it needs itself.
        """
        await wait_idle()
        session.context.external_memory.open()  # in a thread of its own, and only if configured
        await (
            session.context.recorder.commit()
        )  # first: it opens the database that list and load wait for
        await wait_idle()
        await session.tools.prepare()
        if self._sessions.get(session.id) is session:  # not closed meanwhile
            session.context.commands.announce()
        await wait_idle()
        await (await session.prompting.provider.get()).gather_facts()
        await wait_idle()
        # Let a prompt that was sent at once finish first, instead of competing for the endpoint.
        with anyio.move_on_after(FIRST_PROMPT_SECONDS):
            await session.wait_until_idle()
        await session.tools.complete()
        await wait_idle()
        await self._services.catalog.refresh()

    def get(self, session_id: str) -> Session | None:
        """Return an open session, or None."""
        return self._sessions.get(session_id)

    def find(self, session_id: str) -> Session:
        """Return an open session.

        Raises:
            UnknownSessionError: there is no such session.
        """
        session = self._sessions.get(session_id)
        if session is None:
            raise UnknownSessionError(session_id)
        return session

    def cancel(self, session_id: str) -> None:
        """Cancel a session's work; does nothing for an unknown id."""
        session = self._sessions.get(session_id)
        if session is not None:
            session.cancel()

    def remove(self, session_id: str) -> Session:
        """Remove a session and return it, so that the caller can end its work.

        Raises:
            UnknownSessionError: there is no such session.
        """
        session = self.find(session_id)
        del self._sessions[session_id]
        return session

    async def end_turns(self) -> None:
        """Cancel the work of all sessions, before they close, and wait for it to end."""
        sessions = tuple(self._sessions.values())
        # Cancel all before waiting for any, so that their grace periods run in parallel.
        for session in sessions:
            session.stop()
        for session in sessions:
            await session.wait_until_idle()

    async def close(self, timeout_seconds: float) -> None:
        """Close every session, the processes of its tools, and the shared services.

        Sessions that do not close in time are left to the process watcher.
        """
        # Shielded: shutdown may run in a scope that is already cancelled.
        with anyio.move_on_after(timeout_seconds, shield=True):
            async with anyio.create_task_group() as closing:
                for session in self._sessions.values():
                    closing.start_soon(session.close)
        # Without a time limit: closing the archive writes the last records of every session.
        with anyio.CancelScope(shield=True):
            await self._archive.close()
            if self._services.close is not None:
                await self._services.close()


def _snapshot(state: SessionState, journal: Journal) -> SessionSnapshot:
    """Return the start of a session; its journal is given the messages that are missing."""
    messages = state.messages
    # A process that died mid-turn left calls without results; providers reject those.
    missing = missing_messages(state)
    if missing:
        messages = (*messages, *missing)
        for message in missing:
            journal.append(message)
    return SessionSnapshot(
        state.facts,
        messages,
        journal,
        state.seen_files,
        state.checkpoints,
        state.removed_messages,
    )


async def _resolve_workspace(cwd: str, additional: Sequence[str]) -> SessionWorkspace:
    return SessionWorkspace(
        await _require_directory(cwd), tuple(_require_absolute(root) for root in additional)
    )


def _require_absolute(path: str) -> Path:
    # A NUL byte would make every later file operation raise ValueError.
    if "\0" in path or not Path(path).is_absolute():
        message = f"{path!r} is not an absolute path; send the workspace directory's full path"
        raise InvalidRootError(message)
    return Path(path)


async def _require_directory(path: str) -> Path:
    folder = _require_absolute(path)
    try:
        is_folder = await anyio.Path(folder).is_dir()
    except OSError as error:
        message = f"{path!r} cannot be read: {error.strerror}"
        raise InvalidRootError(message) from error
    if not is_folder:
        message = f"{path!r} is not a directory; send an existing workspace directory"
        raise InvalidRootError(message)
    return folder
