"""All open sessions of this process, by id."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from acp_server.session.errors import InvalidRootError, UnknownSessionError
from acp_server.session.session import Equipment, Session, Workspace


class SessionRegistry:
    """Opens, finds and closes sessions."""

    def __init__(self, equipment: Equipment) -> None:
        self._equipment = equipment
        self._sessions: dict[str, Session] = {}

    async def open(self, cwd: str, additional: Sequence[str]) -> Session:
        """Open a session in a workspace.

        Raises:
            InvalidRootError: a folder is not absolute, or `cwd` is no folder.
        """
        workspace = Workspace(await _folder(cwd), tuple(_absolute(root) for root in additional))
        session = Session(workspace, self._equipment)
        self._sessions[session.id] = session
        return session

    def __iter__(self) -> Iterator[Session]:
        return iter(tuple(self._sessions.values()))

    async def warm_up(self, session: Session) -> None:
        """Get ready for a session's first prompt while nobody waits for it.

        Makes its tools, and learns which models can be had: takes long, and may fail quietly.
        """
        await session.prepare()
        await session.gather()
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
        if self._equipment.close is not None:
            with anyio.CancelScope(shield=True):
                await self._equipment.close()


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
