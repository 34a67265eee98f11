"""session/new, close, set_mode and set_config_option."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from acp_server.handlers.updates import (
    commands_update,
    config_options,
    mode_state,
    mode_update,
    options_update,
)
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import Call
from acp_server.protocol.client import Client
from acp_server.protocol.extensions import ActiveFileNotification
from acp_server.protocol.sessions import (
    CloseSessionRequest,
    CloseSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from acp_server.session.registry import SessionRegistry
from acp_server.session.session import Session


class SessionHandlers:
    """What a client can do with sessions, beside prompting."""

    def __init__(
        self, client: Client, sessions: SessionRegistry, warm_up: Callable[[Session], object]
    ) -> None:
        self._client = client
        self._sessions = sessions
        self._warm_up = warm_up

    def new(self, request: NewSessionRequest, call: Call) -> Job:
        """Open a session; its commands are advertised after the answer, never before."""
        del call

        async def run() -> Reply:
            session = await self._sessions.open(request.cwd, request.additional_directories)
            session.on_choice = partial(self._tell_choices, session)
            response = NewSessionResponse(
                session_id=session.id,
                modes=mode_state(session.mode),
                config_options=config_options(session),
            )

            async def advertise() -> None:
                await self._client.update(session.id, commands_update(session.commands.all()))
                self._warm_up(session)

            return Reply(response, advertise)

        return run

    def look_at(self, notification: ActiveFileNotification) -> None:
        """Note which file is in the user's view; sessions that are not there have none."""
        session = self._sessions.get(notification.session_id)
        path = Path(notification.path)
        if session is not None and path.is_absolute() and "\0" not in notification.path:
            session.active_file = path

    def _tell_choices(self, session: Session) -> None:
        """Tell of a choice that the session made by itself."""
        self._client.update_now(session.id, mode_update(session))
        self._client.update_now(session.id, options_update(session))

    def close(self, request: CloseSessionRequest, call: Call) -> Job:
        """Cancel a session's work and forget it; what arrives later does not find it."""
        del call
        session = self._sessions.remove(request.session_id)
        session.cancel()

        async def run() -> Reply:
            await session.close()
            return Reply(CloseSessionResponse())

        return run

    def set_mode(self, request: SetSessionModeRequest, call: Call) -> Job:
        """Switch the mode, also while a turn runs; the mode option follows."""
        del call
        session = self._sessions.find(request.session_id)
        session.set_mode(request.mode_id)

        async def tell() -> None:
            await self._client.update(session.id, options_update(session))

        async def run() -> Reply:
            return Reply(SetSessionModeResponse(), tell)

        return run

    def set_config_option(self, request: SetSessionConfigOptionRequest, call: Call) -> Job:
        """Choose a value and answer with all options; the mode follows."""
        del call
        session = self._sessions.find(request.session_id)
        mode = session.mode
        session.set_option(request.config_id, request.value)
        response = SetSessionConfigOptionResponse(config_options=config_options(session))

        async def tell() -> None:
            await self._client.update(session.id, mode_update(session))

        async def run() -> Reply:
            return Reply(response, tell if session.mode != mode else None)

        return run
