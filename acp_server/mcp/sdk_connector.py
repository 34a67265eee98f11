"""Connector over the MCP SDK: connections, requests, elicitation and errors.

One of the three modules that know the SDK. Requests bypass its typed methods: those reject a whole
list for one bad entry, and reject a result that violates its schema although the tool has already
run. All errors of the SDK become `ServerError` here.
"""

import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeAlias, cast

import anyio
import httpx2
import mcp_types
from mcp.client.session import ClientRequestContext, ClientSession, IncomingMessage
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError
from mcp.shared.jsonrpc_dispatcher import JSONRPCDispatcher
from mcp.shared.message import SessionMessage
from pydantic import FileUrl, JsonValue

from acp_server.mcp.ports import (
    ClientCallbacks,
    Json,
    McpConnection,
    ProgressCallback,
    ServerError,
)
from acp_server.mcp.server_process import ProcessContext
from acp_server.mcp.sign_in import SignInAccount, SignInAuth
from acp_server.mcp.sign_in_store import account_of
from acp_server.mcp.transports import process_streams, remote_streams
from acp_server.session.ports.elicitation import ElicitationForm, ElicitationUrl
from acp_server.session.ports.mcp_configs import (
    ClientServerConfig,
    HttpServerConfig,
    ServerConfig,
    StdioServerConfig,
)
from acp_server.version import __version__

if TYPE_CHECKING:  # a private module of the SDK
    from mcp.client._transport import ReadStream, WriteStream

CONNECTION_ERRORS = (
    ServerError,
    MCPError,
    OSError,
    ValueError,
    RuntimeError,
    LookupError,
    TypeError,
    httpx2.HTTPError,
    httpx2.InvalidURL,
    anyio.BrokenResourceError,
    anyio.ClosedResourceError,
    anyio.EndOfStream,
)
"""All errors of a connection. TypeError and LookupError: malformed data can break the SDK."""
CONNECTION_END_MESSAGE = "Connection closed"
"""The SDK's message of an error for a transport that is closed."""
NO_SAMPLING = "Sampling not supported"
NO_CHANNEL = "only an editor can provide it"
REFUSED_CODE = -1
"""MCP's code for a sampling request that the user has refused."""
VERSION_HEADER = "mcp-protocol-version"
FIRST_ERROR_STATUS = 400
NO_STREAM_STATUS = 405
STATUS_HINTS = {
    401: "it wants a sign-in, and your settings for it have no valid one",
    403: "it does not permit this; if you are signed in, sign out and in again for more rights",
    404: "there is nothing at its address, or it has forgotten the session",
}

Incoming: TypeAlias = "ReadStream[SessionMessage | Exception]"
Outgoing: TypeAlias = "WriteStream[SessionMessage]"


class SdkConnector:
    """Connects to servers with the MCP SDK."""

    def __init__(self, context: ProcessContext, home: Path) -> None:
        """Prepare; sign-ins are stored below `home`."""
        self._context = context
        self._home = home
        self._accounts: dict[str, SignInAccount] = {}
        for name in ("mcp", "client"):  # they log messages and URLs, which can contain secrets
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        for name in ("httpx2", "httpcore2"):  # they log URLs, and headers with session ids
            logging.getLogger(name).setLevel(logging.WARNING)

    @asynccontextmanager
    async def connect(
        self, server: ServerConfig, host: ClientCallbacks
    ) -> AsyncGenerator[McpConnection]:
        """Connect for the duration of the context; see `ports.McpConnector`."""
        if isinstance(server, ClientServerConfig):
            raise ServerError(NO_CHANNEL)
        status = _HttpStatus()
        account = self.account(server)
        failure: ServerError | None = None
        try:
            async with _open_streams(
                server,
                host,
                self._context,
                status,
                account and SignInAuth(account, host.sign_in_prompt),
            ) as (incoming, outgoing):
                watched = _CloseSignalStream(incoming, status.closed)
                dispatcher = JSONRPCDispatcher(watched, outgoing)
                async with _make_session(dispatcher, server.name, host) as session:
                    introduction = await session.initialize()
                    yield _SdkConnection(session, dispatcher, status, introduction)
        except* CONNECTION_ERRORS as group:
            # The cause is a `ServerError` if there is one, else the first error.
            leaves = list(_flatten(group))
            causes = [leaf for leaf in leaves if isinstance(leaf, ServerError)]
            failure = causes[0] if causes else _to_server_error(leaves[0], status)
        # Raised outside of `except*`, which would wrap it in an exception group.
        if failure is not None:
            raise failure

    async def close(self) -> None:
        """Close the watcher process."""
        await self._context.watcher.close()

    def account(self, server: ServerConfig) -> SignInAccount | None:
        """Return the account of a server, which all sessions share; see `ports.McpConnector`."""
        config = server.sign_in_config if isinstance(server, HttpServerConfig) else None
        if config is None or not isinstance(server, HttpServerConfig):
            return None
        name = account_of(server)
        if name not in self._accounts:
            self._accounts[name] = SignInAccount(server, config, self._home)
        return self._accounts[name]


def _open_streams(
    server: StdioServerConfig | HttpServerConfig,
    host: ClientCallbacks,
    context: ProcessContext,
    status: "_HttpStatus",
    auth: SignInAuth | None,
) -> AbstractAsyncContextManager[tuple[Incoming, Outgoing]]:
    if isinstance(server, StdioServerConfig):
        return process_streams(server, host, context)
    streams = remote_streams(server, status.note, auth)
    return cast("AbstractAsyncContextManager[tuple[Incoming, Outgoing]]", streams)


def _make_session(
    dispatcher: JSONRPCDispatcher, server: str, host: ClientCallbacks
) -> AbstractAsyncContextManager[ClientSession]:
    requests = _ServerRequests(server, host)
    return ClientSession(
        dispatcher=dispatcher,
        client_info=mcp_types.Implementation(name="acp-server", version=__version__),
        elicitation_callback=requests.elicit if host.elicitor.can_ask else None,
        sampling_callback=requests.sample if host.sample is not None else None,
        list_roots_callback=requests.list_roots,
        message_handler=requests.notice,
    )


class _ServerRequests:
    """Answers the requests and notifications of a server, in the SDK's types."""

    def __init__(self, server: str, host: ClientCallbacks) -> None:
        self._server = server
        self._host = host

    async def elicit(
        self, context: ClientRequestContext, params: mcp_types.ElicitRequestParams
    ) -> mcp_types.ElicitResult:
        del context
        question: ElicitationForm | ElicitationUrl
        match params:
            case mcp_types.ElicitRequestURLParams():
                page_id = params.elicitation_id or ""
                question = ElicitationUrl(self._server, params.message, params.url, page_id)
            case mcp_types.ElicitRequestFormParams():
                schema = cast("Json", params.requested_schema)
                question = ElicitationForm(self._server, params.message, schema)
        answer = await self._host.elicitor.ask(question)
        content = answer.content if answer.action == "accept" else None
        return mcp_types.ElicitResult.model_validate({"action": answer.action, "content": content})

    async def sample(
        self, context: ClientRequestContext, params: mcp_types.CreateMessageRequestParams
    ) -> mcp_types.CreateMessageResult | mcp_types.ErrorData:
        del context
        request = params.model_dump(by_alias=True, mode="json", exclude_none=True)
        if self._host.sample is None:
            return mcp_types.ErrorData(code=mcp_types.INVALID_REQUEST, message=NO_SAMPLING)
        try:
            answer = await self._host.sample(cast("Json", request))
        except ServerError as error:
            return mcp_types.ErrorData(code=REFUSED_CODE, message=error.reason)
        return mcp_types.CreateMessageResult.model_validate(answer)

    async def list_roots(self, context: ClientRequestContext) -> mcp_types.ListRootsResult:
        del context
        roots = [(FileUrl(root.as_uri()), root.name) for root in self._host.roots]
        return mcp_types.ListRootsResult(
            roots=[mcp_types.Root(uri=uri, name=name) for uri, name in roots]
        )

    async def notice(self, message: IncomingMessage) -> None:
        match message:
            case mcp_types.ToolListChangedNotification():
                self._host.on_list_changed("tools")
            case mcp_types.PromptListChangedNotification():
                self._host.on_list_changed("prompts")
            case mcp_types.ElicitCompleteNotification():
                await self._host.elicitor.complete(message.params.elicitation_id)
            case _:
                return


class _HttpStatus:
    """HTTP status and liveness of a connection."""

    def __init__(self) -> None:
        self.closed = anyio.Event()
        self._error_status: int | None = None

    def note(self, status: int) -> None:
        """Record the status of a response."""
        # Servers without a notification stream answer its GET with 405; that is no failure.
        if status != NO_STREAM_STATUS:
            self._error_status = status if status >= FIRST_ERROR_STATUS else None

    def close_if_rejected(self) -> None:
        """Close a connection whose requests are rejected: the server has lost the session.

        The caller then reconnects and gets a new session.
        """
        if self._error_status is not None:
            self.closed.set()

    @property
    def error_text(self) -> str:
        """A description of the last response's error status; empty if it was successful."""
        if self._error_status is None:
            return ""
        hint = STATUS_HINTS.get(self._error_status)
        return f"HTTP {self._error_status}: {hint}" if hint else f"HTTP {self._error_status}"


class _SdkConnection:
    """An initialized connection over the SDK."""

    def __init__(
        self,
        session: ClientSession,
        dispatcher: JSONRPCDispatcher,
        status: _HttpStatus,
        initialize_result: mcp_types.InitializeResult,
    ) -> None:
        self._version = session.protocol_version or ""
        self._dispatcher = dispatcher
        self._status = status
        self._initialize_result = initialize_result
        self.closed = status.closed

    @property
    def initialize_result(self) -> Json:
        """The server's result of `initialize`."""
        return cast(
            "Json",
            self._initialize_result.model_dump(by_alias=True, mode="json", exclude_none=True),
        )

    async def request(
        self, method: str, parameters: Json, progress: ProgressCallback | None = None
    ) -> Json:
        """Send a request; see `ports.McpConnection`."""
        options = CallOptions(headers={VERSION_HEADER: self._version})
        if progress is not None:
            options["on_progress"] = progress
        try:
            raw = await self._dispatcher.send_raw_request(method, dict(parameters), options)
        except CONNECTION_ERRORS as error:
            self._status.close_if_rejected()
            if isinstance(error, MCPError) and _is_connection_end(error):
                # The transport can be gone before the session has read its end: until then the
                # next request would fail as well instead of waiting for the reconnection.
                self.closed.set()
            raise _to_server_error(error, self._status) from error
        return cast("Mapping[str, JsonValue]", raw)


class _CloseSignalStream:
    """Message stream that sets an event when it is closed, i.e. when the connection ended."""

    def __init__(self, stream: Incoming, closed: anyio.Event) -> None:
        self._stream = stream
        self._closed = closed

    @property
    def last_context(self) -> object:
        """The context of the last message, which the SDK reads."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return await self._stream.receive()

    async def aclose(self) -> None:
        self._closed.set()
        await self._stream.aclose()

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return await self._stream.__anext__()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


def _flatten(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for each in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _flatten(each)
    else:
        yield error


def _is_connection_end(error: MCPError) -> bool:
    """Whether the SDK raised this for a closed transport; servers use the same code for others."""
    return error.code == mcp_types.CONNECTION_CLOSED and error.message == CONNECTION_END_MESSAGE


def _to_server_error(error: BaseException, status: _HttpStatus) -> ServerError:
    match error:
        case ServerError():
            return error
        case MCPError() if _is_connection_end(error):
            return ServerError(status.error_text or "the connection is lost")
        case MCPError():
            text = status.error_text or error.message
            return ServerError(text, is_answer=not status.error_text)
        case httpx2.HTTPError():
            return ServerError(status.error_text or f"it cannot be reached: {_error_text(error)}")
        case _:
            return ServerError(_error_text(error))


def _error_text(error: BaseException) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
