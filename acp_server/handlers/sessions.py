"""Handlers of session/new, load, resume, list, close, delete, set_mode and set_config_option."""

from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.mcp_servers import to_server_configs
from acp_server.handlers.observer import AcpSessionObserver
from acp_server.handlers.updates import (
    AcpEventSink,
    Backpressure,
    commands_update,
    config_options,
    format_timestamp,
    mode_state,
    options_update,
    usage_update,
)
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import InboundRequest
from acp_server.protocol.extensions import (
    ActiveFileNotification,
    Diagnostic,
    DiagnosticsNotification,
    ForkSessionRequest,
    ForkSessionResponse,
)
from acp_server.protocol.sessions import (
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    ListSessionsRequest,
    ListSessionsResponse,
    LoadSessionRequest,
    LoadSessionResponse,
    NewSessionRequest,
    NewSessionResponse,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionInfo,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from acp_server.protocol.updates import CurrentModeUpdate
from acp_server.session.diagnostics import FileDiagnostic
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.registry import Reopened, SessionRegistry
from acp_server.session.replay import replay_events
from acp_server.session.session import Session


class SessionHandlers:
    """Handlers of the session methods other than prompting."""

    def __init__(
        self,
        connection: ClientConnection,
        sessions: SessionRegistry,
        warm_up: Callable[[Session], object],
    ) -> None:
        self._connection = connection
        self._client = connection.client
        self._backpressure = Backpressure(connection)
        self._observe = partial(AcpSessionObserver, connection)
        self._sessions = sessions
        self._warm_up = warm_up

    def new(self, request: NewSessionRequest, call: InboundRequest) -> Job:
        """Open a session. Its commands are advertised after the response, never before."""
        del call

        async def run() -> Reply:
            servers = to_server_configs(request.mcp_servers)
            session = await self._sessions.open(
                request.cwd, request.additional_directories, servers, self._observe
            )
            response = NewSessionResponse(
                session_id=session.id,
                modes=mode_state(session.context.options.mode),
                config_options=config_options(session.context.options.options),
            )
            return Reply(response, self._after_opening(session))

        return run

    def load(self, request: LoadSessionRequest, call: InboundRequest) -> Job:
        """Reopen a session and replay all of it before the response."""
        del call

        async def run() -> Reply:
            reopened = await self._reopen(request)
            events = replay_events(
                reopened.stored, shows_terminals=self._connection.shows_terminal_output
            )
            await AcpEventSink(self._connection, request.session_id, self._backpressure).replay(
                events
            )
            session = reopened.session
            response = LoadSessionResponse(
                modes=mode_state(session.context.options.mode),
                config_options=config_options(session.context.options.options),
            )
            return Reply(response, self._after_opening(session))

        return run

    def resume(self, request: ResumeSessionRequest, call: InboundRequest) -> Job:
        """Reopen a session without replay, for a client that has its history."""
        del call

        async def run() -> Reply:
            session = (await self._reopen(request)).session
            response = ResumeSessionResponse(
                modes=mode_state(session.context.options.mode),
                config_options=config_options(session.context.options.options),
            )
            return Reply(response, self._after_opening(session))

        return run

    def fork(self, request: ForkSessionRequest, call: InboundRequest) -> Job:
        """Open a session that continues from a copy of another one."""
        del call

        async def run() -> Reply:
            session = await self._sessions.fork(
                request.session_id,
                request.cwd,
                request.additional_directories,
                to_server_configs(request.mcp_servers),
                self._observe,
            )
            response = ForkSessionResponse(
                session_id=session.id,
                modes=mode_state(session.context.options.mode),
                config_options=config_options(session.context.options.options),
            )
            return Reply(response, self._after_opening(session))

        return run

    def list_sessions(self, request: ListSessionsRequest, call: InboundRequest) -> Job:
        """List stored sessions, one page at a time."""
        del call

        async def run() -> Reply:
            page = await self._sessions.page(request.cwd, request.cursor)
            sessions = tuple(_to_session_info(facts) for facts in page.sessions)
            return Reply(ListSessionsResponse(sessions=sessions, next_cursor=page.cursor))

        return run

    def delete(self, request: DeleteSessionRequest, call: InboundRequest) -> Job:
        """Delete a stored session; a missing one is not an error."""
        del call

        async def run() -> Reply:
            await self._sessions.delete(request.session_id)
            return Reply(DeleteSessionResponse())

        return run

    async def _reopen(self, request: LoadSessionRequest | ResumeSessionRequest) -> Reopened:
        return await self._sessions.reopen(
            request.session_id,
            request.cwd,
            request.additional_directories,
            to_server_configs(request.mcp_servers),
            self._observe,
        )

    def _after_opening(self, session: Session) -> Callable[[], Awaitable[None]]:
        """Return the follow-up of an opened session: advertise commands and usage, warm up."""

        async def advertise() -> None:
            await self._client.send_update(
                session.id, commands_update(session.context.commands.all())
            )
            usage = usage_update(session)
            if usage is not None:
                await self._client.send_update(session.id, usage)
            self._warm_up(session)

        return advertise

    def set_active_file(self, notification: ActiveFileNotification) -> None:
        """Record the file in the user's view; ignored for unknown sessions."""
        session = self._sessions.get(notification.session_id)
        path = Path(notification.path)
        if session is not None and path.is_absolute() and "\0" not in notification.path:
            session.prompting.active_file = path

    def receive_diagnostics(self, notification: DiagnosticsNotification) -> None:
        """Record the problems of a file; ignored for unknown sessions."""
        session = self._sessions.get(notification.session_id)
        path = Path(notification.path)
        if session is not None and path.is_absolute() and "\0" not in notification.path:
            session.context.diagnostics.receive(
                path, [_to_diagnostic(item) for item in notification.items]
            )

    def close(self, request: CloseSessionRequest, call: InboundRequest) -> Job:
        """Cancel a session's work and remove it; later messages do not find it."""
        del call
        # Synchronously: a prompt right behind this request must not reach the closing session.
        session = self._sessions.remove(request.session_id)
        session.cancel()

        async def run() -> Reply:
            await session.close()
            return Reply(CloseSessionResponse())

        return run

    def set_mode(self, request: SetSessionModeRequest, call: InboundRequest) -> Job:
        """Switch the mode, also during a turn; the mode option follows."""
        del call
        session = self._sessions.find(request.session_id)
        session.context.options.set_mode(request.mode_id)

        async def notify() -> None:
            await self._client.send_update(
                session.id, options_update(session.context.options.options)
            )

        async def run() -> Reply:
            return Reply(SetSessionModeResponse(), notify)

        return run

    def set_config_option(
        self, request: SetSessionConfigOptionRequest, call: InboundRequest
    ) -> Job:
        """Set an option and answer with all options; the mode follows.

        A model that is not listed yet is refused only after its endpoint has had time to list it.
        """
        del call
        session = self._sessions.find(request.session_id)
        if isinstance(request.value, str) and session.context.options.await_model_list(
            request.config_id, request.value
        ):
            return _choose_model_job(session, request.value)
        previous_mode = session.context.options.mode
        session.context.options.set_option(request.config_id, request.value)
        response = SetSessionConfigOptionResponse(
            config_options=config_options(session.context.options.options)
        )

        async def notify() -> None:
            await self._client.send_update(
                session.id, CurrentModeUpdate(current_mode_id=session.context.options.mode)
            )

        async def run() -> Reply:
            return Reply(
                response, notify if session.context.options.mode != previous_mode else None
            )

        return run


def _choose_model_job(session: Session, model_id: str) -> Job:
    async def run() -> Reply:
        await session.context.options.select_awaited_model(model_id)
        return Reply(
            SetSessionConfigOptionResponse(
                config_options=config_options(session.context.options.options)
            )
        )

    return run


def _to_diagnostic(item: Diagnostic) -> FileDiagnostic:
    return FileDiagnostic(
        severity=item.severity,
        message=item.message,
        line=max(item.line, 1),
        end_line=item.end_line,
        source=item.source or "",
        code="" if item.code is None else str(item.code),
    )


def _to_session_info(facts: SessionFacts) -> SessionInfo:
    return SessionInfo(
        session_id=facts.id,
        cwd=str(facts.cwd),
        additional_directories=tuple(str(folder) for folder in facts.additional_directories),
        title=facts.title or None,
        updated_at=format_timestamp(facts.updated_at),
    )
