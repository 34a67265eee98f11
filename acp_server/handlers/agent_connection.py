"""One client's connection: the method table, and the peer that serves it."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial

import anyio
from pydantic import JsonValue

from acp_server.handlers.auth import AuthHandlers
from acp_server.handlers.client_connection import ClientConnection
from acp_server.handlers.idle import IdleDetector
from acp_server.handlers.overviews import OverviewHandlers
from acp_server.handlers.params import (
    answer_with,
    deferred,
    notification_handler,
    request_handler,
)
from acp_server.handlers.prompting import PromptHandlers, build_models
from acp_server.handlers.providers import ProviderHandlers
from acp_server.handlers.sessions import SessionHandlers
from acp_server.handlers.updates import options_update
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.errors import InvalidRequestError
from acp_server.jsonrpc.peer import Handlers, InboundRequest, RequestHandler
from acp_server.protocol.content import TextContent
from acp_server.protocol.extensions import (
    ACTIVE_FILE_METHOD,
    CANCEL_TASK_METHOD,
    DIAGNOSTICS_METHOD,
    FORGET_PERMISSION_RULE_METHOD,
    MCP_MESSAGE_METHOD,
    MCP_SERVERS_METHOD,
    PERMISSION_RULES_METHOD,
    RESTART_MCP_SERVER_METHOD,
    RESTORE_METHOD,
    STEERING_METHOD,
    ActiveFileNotification,
    AuthStatusRequest,
    CancelTaskNotification,
    DiagnosticsNotification,
    DisableProviderRequest,
    ForgetPermissionRuleRequest,
    ForkSessionRequest,
    ListProvidersRequest,
    McpServersRequest,
    MessageMcpNotification,
    PermissionRulesRequest,
    RestartMcpServerRequest,
    RestoreRequest,
    SetProviderRequest,
    SetSessionTitleRequest,
    SteeringRequest,
)
from acp_server.protocol.initialize_request import (
    AuthenticateRequest,
    InitializeRequest,
    LogoutRequest,
)
from acp_server.protocol.prompt_turn import CancelNotification, PromptRequest
from acp_server.protocol.sessions import (
    CloseSessionRequest,
    DeleteSessionRequest,
    ListSessionsRequest,
    LoadSessionRequest,
    NewSessionRequest,
    ResumeSessionRequest,
    SetSessionConfigOptionRequest,
    SetSessionModeRequest,
)
from acp_server.protocol.updates import AgentMessageChunk
from acp_server.session.registry import SessionRegistry
from acp_server.session.session import Session
from acp_server.startup.handshake import initialize_result

logger = logging.getLogger(__name__)

CLOSE_TIMEOUT_SECONDS = 0.5
"""Time for processes left by tools to end; those still running are then killed."""


class AgentConnection:
    """The agent's side of one client's connection."""

    def __init__(
        self,
        connection: ClientConnection,
        sessions: SessionRegistry,
        auth: AuthHandlers,
        initialize_params: JsonValue = None,
        *,
        sends_drafts: bool = False,
        providers: ProviderHandlers | None = None,
    ) -> None:
        self._is_initialized = False
        connection.sends_drafts = sends_drafts
        self._sessions = sessions
        self._auth = auth
        self._providers = providers or ProviderHandlers()
        self._connection = connection
        self._peer = connection.peer
        self._client = connection.client
        self._idle_detector = IdleDetector()
        self._pending_problems: list[str] = []
        """Problems reported while no session existed to show them."""
        self._told: set[tuple[str, str]] = set()
        """The sessions in which a problem was shown, each with the problem."""
        self.opening_notice: str | None = None
        """What is shown as soon as a session opens: why no prompt can be answered."""
        self.on_ready: Callable[[], Awaitable[object]] | None = None
        """Called once, when the first session is ready and its first imports are done."""
        if initialize_params is not None:
            self._record_client(initialize_params)

    async def run(self) -> None:
        """Serve until the client's stream ends."""
        async with anyio.create_task_group() as background:
            self._connection.background = background
            warm_up = partial(background.start_soon, self._warm_up)
            try:
                # At the end of the stream, turns are cancelled first: each still answers its
                # prompt.
                await self._peer.run(self._handlers(warm_up), self._sessions.end_turns)
            finally:
                await self._sessions.close(CLOSE_TIMEOUT_SECONDS)
            background.cancel_scope.cancel()

    async def wait_until_disconnected(self) -> None:
        """Return when the client has ended its stream; turns may still be ending."""
        await self._peer.has_ended.wait()

    async def end_turns(self) -> None:
        """Cancel every turn and wait until each prompt is answered."""
        await self._sessions.end_turns()
        await self._peer.wait_until_answered()

    def send_options(self) -> None:
        """Send every session's options again, after the available choices have changed."""
        for session in self._sessions:
            self._client.send_update_now(
                session.id, options_update(session.context.options.options, self._connection)
            )

    def report_problem(self, problem: str) -> None:
        """Tell the user of a problem in every session; without one, in the next."""
        sessions = tuple(self._sessions)
        for session in sessions:
            session.context.notices.add(problem)
            self._told.add((session.id, problem))
        if not sessions:
            self._pending_problems.append(problem)

    async def _warm_up(self, session: Session) -> None:
        if self.opening_notice:
            chunk = AgentMessageChunk(content=TextContent(text=self.opening_notice))
            self._client.send_update_now(session.id, chunk)
        # Swapped before the first await: two sessions that warm up together must not both show
        # them.
        problems, self._pending_problems = self._pending_problems, []
        ongoing = self._sessions.storage_problem
        if ongoing is not None and ongoing not in problems:
            problems.append(ongoing)
        for problem in problems:
            if (session.id, problem) not in self._told:
                self._told.add((session.id, problem))
                session.context.notices.add(problem)
        await self._idle_detector.wait()
        await build_models()
        try:
            await self._sessions.warm_up(session, self._idle_detector.wait)
        except Exception:
            # Boundary: only time is lost. A prompt repeats what failed here, and reports it.
            logger.exception("a session could not be prepared for its first prompt")
            session.context.commands.announce()
        # From now on everything is imported: further sessions need not wait for it to stay quiet.
        self._idle_detector.end_quiet()
        on_ready, self.on_ready = self.on_ready, None
        if on_ready is not None:
            await on_ready()

    def _handlers(self, warm_up: Callable[[Session], object]) -> Handlers:
        sessions = SessionHandlers(self._connection, self._sessions, warm_up)
        auth = self._auth
        prompts = PromptHandlers(self._connection, self._sessions, self._idle_detector.answering)
        providers = self._providers
        overviews = OverviewHandlers(self._sessions)
        check = self._require_initialize
        answering = self._idle_detector.answering
        tracked = partial(request_handler, check=check, while_answering=answering)
        requests: dict[str, RequestHandler] = {
            "initialize": request_handler(
                InitializeRequest, self._initialize, while_answering=answering
            ),
            "authenticate": tracked(AuthenticateRequest, deferred(auth.authenticate)),
            "logout": tracked(LogoutRequest, deferred(auth.logout)),
            "auth/status": tracked(AuthStatusRequest, deferred(auth.status)),
            "providers/list": tracked(ListProvidersRequest, deferred(providers.list_providers)),
            "providers/set": tracked(SetProviderRequest, deferred(providers.set_provider)),
            "providers/disable": tracked(
                DisableProviderRequest, deferred(providers.disable_provider)
            ),
            "session/new": tracked(NewSessionRequest, deferred(sessions.new)),
            "session/load": tracked(LoadSessionRequest, deferred(sessions.load)),
            "session/resume": tracked(ResumeSessionRequest, deferred(sessions.resume)),
            "session/fork": tracked(ForkSessionRequest, deferred(sessions.fork)),
            "session/set_title": tracked(SetSessionTitleRequest, deferred(sessions.set_title)),
            "session/list": tracked(ListSessionsRequest, deferred(sessions.list_sessions)),
            "session/delete": tracked(DeleteSessionRequest, deferred(sessions.delete)),
            "session/close": tracked(CloseSessionRequest, sessions.close),
            "session/set_mode": tracked(SetSessionModeRequest, sessions.set_mode),
            "session/set_config_option": tracked(
                SetSessionConfigOptionRequest, sessions.set_config_option
            ),
            # Tracked until its turn is prepared: a prompt may take hours.
            "session/prompt": request_handler(PromptRequest, prompts.prompt, check),
            RESTORE_METHOD: request_handler(RestoreRequest, prompts.restore, check),
            MCP_SERVERS_METHOD: tracked(McpServersRequest, deferred(overviews.mcp_servers)),
            RESTART_MCP_SERVER_METHOD: tracked(
                RestartMcpServerRequest, deferred(overviews.restart_mcp_server)
            ),
            PERMISSION_RULES_METHOD: tracked(
                PermissionRulesRequest, deferred(overviews.permission_rules)
            ),
            FORGET_PERMISSION_RULE_METHOD: tracked(
                ForgetPermissionRuleRequest, deferred(overviews.forget_permission_rule)
            ),
            STEERING_METHOD: request_handler(SteeringRequest, prompts.steer, check),
        }
        notifications = {
            "session/cancel": notification_handler(CancelNotification, prompts.cancel),
            ACTIVE_FILE_METHOD: notification_handler(
                ActiveFileNotification, sessions.set_active_file
            ),
            CANCEL_TASK_METHOD: notification_handler(CancelTaskNotification, prompts.cancel_task),
            DIAGNOSTICS_METHOD: notification_handler(
                DiagnosticsNotification, sessions.receive_diagnostics
            ),
            MCP_MESSAGE_METHOD: notification_handler(
                MessageMcpNotification, self._connection.servers.receive
            ),
        }
        return Handlers(requests, notifications)

    def _initialize(self, request: InitializeRequest, call: InboundRequest) -> Job:
        """Answer; a client may send it again, and its latest capabilities count."""
        del request
        self._record_client(call.request.params)
        result = initialize_result(call.request.params)
        return answer_with(Reply(result))

    def _record_client(self, initialize_params: JsonValue) -> None:
        self._connection.record(initialize_params)
        self._is_initialized = True

    def _require_initialize(self) -> None:
        if not self._is_initialized:
            reason = "send `initialize` first"
            raise InvalidRequestError(reason)
