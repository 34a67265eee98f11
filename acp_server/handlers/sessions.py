"""Handlers of session/new, load, resume, list, close, delete, set_mode and set_config_option."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.client_instructions import client_instructions
from acp_server.handlers.mcp_servers import to_server_configs
from acp_server.handlers.observer import AcpSessionObserver
from acp_server.handlers.params import answer_with
from acp_server.handlers.updates import (
    AcpEventSink,
    Backpressure,
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
    SetSessionTitleRequest,
    SetSessionTitleResponse,
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
    SessionRequest,
    SessionSetup,
    SetSessionConfigOptionRequest,
    SetSessionConfigOptionResponse,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from acp_server.protocol.updates import CurrentModeUpdate
from acp_server.session.diagnostics import FileDiagnostic
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.registry import Reopened, SessionRegistry
from acp_server.session.replay import Replay
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

    async def new(self, request: NewSessionRequest) -> Reply:
        """Open a session. Its commands are sent after the response, never before."""
        instructions = client_instructions(request)
        servers = self._server_configs(request)
        session = await self._sessions.open(
            request.cwd, request.additional_directories, servers, self._observe
        )
        session.prompting.set_client_instructions(instructions)
        return self._opened(session, partial(NewSessionResponse, session_id=session.id))

    async def load(self, request: LoadSessionRequest) -> Reply:
        """Reopen a session and replay all of it before the response."""
        reopened = await self._reopen(request)
        replay = Replay(
            reopened.session.context.conversation,
            shows_terminals=self._connection.shows_terminal_output,
            shows_sub_agents=True,
        )
        sink = AcpEventSink(self._connection, request.session_id, self._backpressure)
        # The next page is read once the client has taken this one, but for the queue's capacity.
        async for page in reopened.history:
            await sink.replay(replay.events(page))
        await sink.replay(replay.ends())
        return self._opened(reopened.session, LoadSessionResponse)

    async def resume(self, request: ResumeSessionRequest) -> Reply:
        """Reopen a session without replay, for a client that has its history."""
        return self._opened((await self._reopen(request)).session, ResumeSessionResponse)

    async def fork(self, request: ForkSessionRequest) -> Reply:
        """Open a session that continues from a copy of another one."""
        instructions = client_instructions(request)
        session = await self._sessions.fork(
            request.session_id,
            request.cwd,
            request.additional_directories,
            self._server_configs(request),
            self._observe,
        )
        session.prompting.set_client_instructions(instructions)
        return self._opened(session, partial(ForkSessionResponse, session_id=session.id))

    async def list_sessions(self, request: ListSessionsRequest) -> Reply:
        """List stored sessions, one page at a time."""
        page = await self._sessions.page(request.cwd, request.cursor)
        sessions = tuple(_to_session_info(facts) for facts in page.sessions)
        return Reply(ListSessionsResponse(sessions=sessions, next_cursor=page.cursor))

    async def delete(self, request: DeleteSessionRequest) -> Reply:
        """Delete a stored session; a missing one is not an error."""
        await self._sessions.delete(request.session_id)
        return Reply(DeleteSessionResponse())

    async def set_title(self, request: SetSessionTitleRequest) -> Reply:
        """Name a session, open or only stored."""
        title = await self._sessions.set_title(request.session_id, request.title)
        return Reply(SetSessionTitleResponse(title=title))

    async def _reopen(self, request: LoadSessionRequest | ResumeSessionRequest) -> Reopened:
        instructions = client_instructions(request)
        reopened = await self._sessions.reopen(
            request.session_id,
            request.cwd,
            request.additional_directories,
            self._server_configs(request),
            self._observe,
        )
        reopened.session.prompting.set_client_instructions(instructions)
        return reopened

    def _server_configs(self, request: SessionRequest) -> tuple[ServerConfig, ...]:
        return to_server_configs(request.mcp_servers, self._connection.client_name)

    def _opened(self, session: Session, build_response: Callable[..., SessionSetup]) -> Reply:
        """Return the response with the session's modes and options.

        Usage is sent after it, and then the session warms up, which sends its commands.
        """
        options = session.context.options
        response = build_response(
            modes=mode_state(options.mode),
            config_options=config_options(options.options, self._connection),
        )

        async def follow_up() -> None:
            usage = usage_update(session)
            if usage is not None:
                await self._client.send_update(session.id, usage)
            self._warm_up(session)

        return Reply(response, follow_up)

    def set_active_file(self, notification: ActiveFileNotification) -> None:
        """Record the file in the user's view; ignored for unknown sessions."""
        session = self._session_of_file(notification)
        if session is not None:
            session.prompting.active_file = Path(notification.path)

    def receive_diagnostics(self, notification: DiagnosticsNotification) -> None:
        """Record the problems of a file; ignored for unknown sessions."""
        session = self._session_of_file(notification)
        if session is not None:
            items = [_to_diagnostic(item) for item in notification.items]
            session.context.diagnostics.receive(Path(notification.path), items)

    def _session_of_file(
        self, notification: ActiveFileNotification | DiagnosticsNotification
    ) -> Session | None:
        """Return the session of a notification about a file; None if either is not valid."""
        is_path = Path(notification.path).is_absolute() and "\0" not in notification.path
        return self._sessions.get(notification.session_id) if is_path else None

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
        options = session.context.options
        options.set_mode(request.mode_id)

        async def notify() -> None:
            update = options_update(options.options, self._connection)
            await self._client.send_update(session.id, update)

        return answer_with(Reply(SetSessionModeResponse(), notify))

    def set_config_option(
        self, request: SetSessionConfigOptionRequest, call: InboundRequest
    ) -> Job:
        """Set an option and answer with all options; the mode follows.

        A model that is not listed yet is refused only after its endpoint has had time to list it.
        """
        del call
        session = self._sessions.find(request.session_id)
        options = session.context.options
        if isinstance(request.value, str) and options.await_model_list(
            request.config_id, request.value
        ):
            return partial(self._choose_model, options, request.value)
        previous_mode = options.mode
        options.set_option(request.config_id, request.value)
        response = self._all_options(options)

        async def notify() -> None:
            update = CurrentModeUpdate(current_mode_id=options.mode)
            await self._client.send_update(session.id, update)

        return answer_with(Reply(response, notify if options.mode != previous_mode else None))

    async def _choose_model(self, options: SelectedOptions, model_id: str) -> Reply:
        await options.select_awaited_model(model_id)
        return Reply(self._all_options(options))

    def _all_options(self, options: SelectedOptions) -> SetSessionConfigOptionResponse:
        return SetSessionConfigOptionResponse(
            config_options=config_options(options.options, self._connection)
        )


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
