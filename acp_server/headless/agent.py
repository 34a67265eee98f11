"""ACP client: typed requests to an agent, and answers to the agent's requests.

When a request returns, every update that the agent sent before its response has been shown. Knows
nothing of processes, terminals or policies: how to show updates, answer permission requests and
offer files is passed in as `ClientProfile`.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import anyio
from pydantic import JsonValue, ValidationError

from acp_server.headless.directory_files import DirectoryFiles
from acp_server.headless.errors import (
    AgentDisconnectedError,
    AgentResponseError,
    InvalidResultError,
    UnsupportedVersionError,
)
from acp_server.headless.updates import ShowUpdate, Update, UpdateQueue
from acp_server.headless.wire import RecordingTransport
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.errors import ConnectionClosedError, InvalidParamsError, RemoteError
from acp_server.jsonrpc.messages import Payload
from acp_server.jsonrpc.peer import Handlers, InboundRequest, Peer, RequestHandler
from acp_server.protocol.content import ContentBlock, TextContent
from acp_server.protocol.extensions import HEADLESS_CLIENT
from acp_server.protocol.files import ReadTextFileRequest, WriteTextFileRequest
from acp_server.protocol.initialize_request import (
    ClientCapabilities,
    FileSystemCapabilities,
    Implementation,
    InitializeRequest,
)
from acp_server.protocol.initialize_response import InitializeResponse
from acp_server.protocol.model import WireModel
from acp_server.protocol.prompt_turn import CancelNotification, PromptRequest, PromptResponse
from acp_server.protocol.sessions import (
    CloseSessionRequest,
    CloseSessionResponse,
    McpServer,
    NewSessionRequest,
    NewSessionResponse,
)
from acp_server.protocol.tool_calls import (
    CancelledPermissionOutcome,
    RequestPermissionOutcome,
    RequestPermissionRequest,
    RequestPermissionResponse,
)
from acp_server.version import __version__

PROTOCOL_VERSION = 1

ResultT = TypeVar("ResultT", bound=WireModel)
AnswerPermission = Callable[[RequestPermissionRequest], Awaitable[RequestPermissionOutcome]]


async def ignore_update(session_id: str, update: Update) -> None:
    """Ignore an update."""
    del session_id, update


async def cancel_permission(request: RequestPermissionRequest) -> RequestPermissionOutcome:
    """Answer a permission request as cancelled."""
    del request
    return CancelledPermissionOutcome()


@dataclass(frozen=True, slots=True)
class ClientProfile:
    """Callbacks, capabilities and identity of this client."""

    show: ShowUpdate = ignore_update
    """Awaited for each update, in order. It may send requests to the agent, but not `prompt`."""
    answer_permission: AnswerPermission = cancel_permission
    """Awaited for each permission request, after all earlier updates have been shown."""
    capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)
    request_handlers: Mapping[str, RequestHandler] = field(
        default_factory=dict[str, RequestHandler]
    )
    """Handlers of further agent requests, by method; advertise them in `capabilities`."""
    files: DirectoryFiles | None = None
    """Files that the agent may access through this client; advertised automatically."""
    shows_terminal_output: bool = False
    """Whether to advertise the `_meta` extension for streamed command output."""
    info: Implementation = field(
        default_factory=lambda: Implementation(name=HEADLESS_CLIENT, version=__version__)
    )

    @property
    def advertised_capabilities(self) -> ClientCapabilities:
        """The capabilities that `initialize` advertises."""
        changes: dict[str, object] = {}
        if self.files is not None:
            changes["fs"] = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        if self.shows_terminal_output:
            changes["meta"] = {**(self.capabilities.meta or {}), "terminal_output": True}
        return self.capabilities.model_copy(update=changes)


class AgentClient:
    """Client end of a connection to an agent, with one method per ACP request."""

    def __init__(self, transport: RecordingTransport, profile: ClientProfile) -> None:
        self.has_disconnected = False
        """Whether the agent has closed its output stream."""
        self.closed = anyio.Event()
        """Set when reading has ended: the agent has disconnected, or `run` was cancelled."""
        self._transport = transport
        self._profile = profile
        self._peer = Peer(transport)
        self._updates = UpdateQueue(profile.show)
        self._pending_permissions: dict[anyio.CancelScope, str] = {}

    async def initialize(self) -> InitializeResponse:
        """Send `initialize` and check the agent's protocol version.

        Raises:
            UnsupportedVersionError: The agent speaks another version of ACP.
            AgentClientError: See `request`.
        """
        request = InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=self._profile.advertised_capabilities,
            client_info=self._profile.info,
        )
        answer = await self.request("initialize", request, InitializeResponse)
        if answer.protocol_version != PROTOCOL_VERSION:
            raise UnsupportedVersionError(answer.protocol_version)
        return answer

    async def new_session(
        self,
        cwd: Path,
        additional_directories: Sequence[Path] = (),
        mcp_servers: Sequence[McpServer] = (),
    ) -> NewSessionResponse:
        """Open a session in a workspace directory. Raises like `request`."""
        request = NewSessionRequest(
            cwd=str(cwd),
            additional_directories=tuple(map(str, additional_directories)),
            mcp_servers=tuple(mcp_servers),
        )
        return await self.request("session/new", request, NewSessionResponse)

    async def prompt(self, session_id: str, prompt: str | Sequence[ContentBlock]) -> PromptResponse:
        """Send a prompt, as text or content blocks, and wait for the turn. Raises like `request`.

        Cancelling the wait sends `$/cancel_request`.
        """
        blocks = (TextContent(text=prompt),) if isinstance(prompt, str) else tuple(prompt)
        request = PromptRequest(session_id=session_id, prompt=blocks)
        return await self.request("session/prompt", request, PromptResponse)

    async def cancel(self, session_id: str) -> None:
        """Cancel a session's turns; answers its open permission requests as cancelled."""
        await self._peer.notify("session/cancel", CancelNotification(session_id=session_id))
        # ACP requires it: a client that cancels must answer its pending permission requests.
        for scope, owner in tuple(self._pending_permissions.items()):
            if owner == session_id:
                scope.cancel()

    async def close_session(self, session_id: str) -> None:
        """Close a session. Raises like `request`."""
        request = CloseSessionRequest(session_id=session_id)
        await self.request("session/close", request, CloseSessionResponse)

    async def request(self, method: str, params: Payload, result_type: type[ResultT]) -> ResultT:
        """Send a request and return its result once all earlier updates have been shown.

        Raises:
            AgentResponseError: The agent answered with an error.
            AgentDisconnectedError: The agent disconnected without an answer.
            InvalidResultError: The result does not validate as `result_type`.
        """
        try:
            result = await self._peer.request(method, params)
        except RemoteError as error:
            raise AgentResponseError(method, error.code, error.message, error.data) from error
        except ConnectionClosedError as error:
            raise AgentDisconnectedError(method) from error
        finally:
            await self._updates.join()
        try:
            return result_type.from_wire(result)
        except ValidationError as error:
            reason = "; ".join(each["msg"] for each in error.errors())
            raise InvalidResultError(method, result, reason) from error

    async def run(self) -> None:
        """Process incoming messages until the agent closes its stream."""
        handlers = Handlers(self._request_handlers(), {"session/update": self._updates.put})
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._updates.run)
                await self._peer.run(handlers)
                self.has_disconnected = True
                self._updates.close()
        finally:
            self.closed.set()

    async def finish_sending(self) -> None:
        """Stop sending, and wait until everything queued is written."""
        self._transport.stop_sending()
        await self._transport.flush()

    def _request_handlers(self) -> Mapping[str, RequestHandler]:
        """Return the handlers of the agent's requests, by method."""
        permission = self._make_handler(RequestPermissionRequest, self._answer_permission)
        requests = {"session/request_permission": permission}
        files = self._profile.files
        if files is not None:
            requests["fs/read_text_file"] = self._make_handler(ReadTextFileRequest, files.read)
            requests["fs/write_text_file"] = self._make_handler(WriteTextFileRequest, files.write)
        return {**requests, **self._profile.request_handlers}

    def _make_handler(
        self, kind: type[ResultT], answer: Callable[[ResultT], Awaitable[WireModel]]
    ) -> RequestHandler:
        """Return a handler that answers after all updates before the request have been shown."""

        def handle(params: JsonValue, call: InboundRequest) -> Job:
            del call
            try:
                request = kind.from_wire(params)
            except ValidationError as error:
                raise InvalidParamsError(str(error)) from None

            async def run() -> Reply:
                await self._updates.join()
                return Reply(await answer(request))

            return run

        return handle

    async def _answer_permission(
        self, request: RequestPermissionRequest
    ) -> RequestPermissionResponse:
        with anyio.CancelScope() as scope:
            self._pending_permissions[scope] = request.session_id
            try:
                return RequestPermissionResponse(
                    outcome=await self._profile.answer_permission(request)
                )
            finally:
                del self._pending_permissions[scope]
        # Reached only if `cancel` has cancelled the scope.
        return RequestPermissionResponse(outcome=CancelledPermissionOutcome())
