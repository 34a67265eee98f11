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

from acp_server.headless.directory_files import FolderFiles
from acp_server.headless.errors import (
    AgentLeftError,
    AgentRefusedError,
    UnreadableAnswerError,
    UnsupportedVersionError,
)
from acp_server.headless.updates import ShowUpdate, Update, UpdateQueue
from acp_server.headless.wire import TappedTransport
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.errors import ConnectionClosedError, InvalidParamsError, RemoteError
from acp_server.jsonrpc.messages import Payload
from acp_server.jsonrpc.peer import Call, Handlers, Peer, RequestHandler
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

A = TypeVar("A", bound=WireModel)
Decide = Callable[[RequestPermissionRequest], Awaitable[RequestPermissionOutcome]]


async def show_nothing(session_id: str, update: Update) -> None:
    """Ignore an update."""
    del session_id, update


async def decide_nothing(request: RequestPermissionRequest) -> RequestPermissionOutcome:
    """Answer a permission request as cancelled."""
    del request
    return CancelledPermissionOutcome()


@dataclass(frozen=True, slots=True)
class Editor:
    """Callbacks, capabilities and identity of this client."""

    show: ShowUpdate = show_nothing
    """Awaited for each update, in order. It may send requests to the agent, but not `prompt`."""
    decide: Decide = decide_nothing
    """Awaited for each permission request, after all earlier updates have been shown."""
    capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)
    requests: Mapping[str, RequestHandler] = field(default_factory=dict[str, RequestHandler])
    """Handlers of further agent requests, by method; advertise them in `capabilities`."""
    files: FolderFiles | None = None
    """Files that the agent may access through this client; advertised automatically."""
    shows_terminal_output: bool = False
    """Whether to advertise the `_meta` extension for streamed command output."""
    info: Implementation = field(
        default_factory=lambda: Implementation(name=HEADLESS_CLIENT, version=__version__)
    )

    @property
    def offered(self) -> ClientCapabilities:
        """The capabilities that `initialize` advertises."""
        changes: dict[str, object] = {}
        if self.files is not None:
            changes["fs"] = FileSystemCapabilities(read_text_file=True, write_text_file=True)
        if self.shows_terminal_output:
            changes["meta"] = {**(self.capabilities.meta or {}), "terminal_output": True}
        return self.capabilities.model_copy(update=changes)


class Agent:
    """Client end of a connection to an agent, with one method per ACP request."""

    def __init__(self, transport: TappedTransport, editor: Editor) -> None:
        self.has_left = False
        """Whether the agent has closed its output stream."""
        self.is_over = anyio.Event()
        """Set when reading has ended: the agent has disconnected, or `run` was cancelled."""
        self._transport = transport
        self._editor = editor
        self._peer = Peer(transport)
        self._updates = UpdateQueue(editor.show)
        self._questions: dict[anyio.CancelScope, str] = {}

    async def initialize(self) -> InitializeResponse:
        """Send `initialize` and check the agent's protocol version.

        Raises:
            UnsupportedVersionError: The agent speaks another version of ACP.
            AgentClientError: See `request`.
        """
        request = InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=self._editor.offered,
            client_info=self._editor.info,
        )
        answer = await self.ask("initialize", request, InitializeResponse)
        if answer.protocol_version != PROTOCOL_VERSION:
            raise UnsupportedVersionError(answer.protocol_version)
        return answer

    async def new_session(
        self,
        folder: Path,
        additional_folders: Sequence[Path] = (),
        mcp_servers: Sequence[McpServer] = (),
    ) -> NewSessionResponse:
        """Open a session in a workspace directory. Raises like `request`."""
        request = NewSessionRequest(
            cwd=str(folder),
            additional_directories=tuple(map(str, additional_folders)),
            mcp_servers=tuple(mcp_servers),
        )
        return await self.ask("session/new", request, NewSessionResponse)

    async def prompt(self, session_id: str, prompt: str | Sequence[ContentBlock]) -> PromptResponse:
        """Send a prompt, as text or content blocks, and wait for the turn. Raises like `request`.

        Cancelling the wait sends `$/cancel_request`.
        """
        blocks = (TextContent(text=prompt),) if isinstance(prompt, str) else tuple(prompt)
        request = PromptRequest(session_id=session_id, prompt=blocks)
        return await self.ask("session/prompt", request, PromptResponse)

    async def cancel(self, session_id: str) -> None:
        """Cancel a session's turns; answers its open permission requests as cancelled."""
        await self._peer.notify("session/cancel", CancelNotification(session_id=session_id))
        # ACP requires it: a client that cancels must answer its pending permission requests.
        for scope, owner in tuple(self._questions.items()):
            if owner == session_id:
                scope.cancel()

    async def close_session(self, session_id: str) -> None:
        """Close a session. Raises like `request`."""
        request = CloseSessionRequest(session_id=session_id)
        await self.ask("session/close", request, CloseSessionResponse)

    async def ask(self, method: str, params: Payload, answer: type[A]) -> A:
        """Send a request and return its result once all earlier updates have been shown.

        Raises:
            AgentResponseError: The agent answered with an error.
            AgentDisconnectedError: The agent disconnected without an answer.
            InvalidResultError: The result does not validate as `result_type`.
        """
        try:
            result = await self._peer.request(method, params)
        except RemoteError as error:
            raise AgentRefusedError(method, error.code, error.message, error.data) from error
        except ConnectionClosedError as error:
            raise AgentLeftError(method) from error
        finally:
            await self._updates.settle()
        try:
            return answer.from_wire(result)
        except ValidationError as error:
            reason = "; ".join(each["msg"] for each in error.errors())
            raise UnreadableAnswerError(method, result, reason) from error

    async def run(self) -> None:
        """Process incoming messages until the agent closes its stream."""
        handlers = Handlers(self._requests(), {"session/update": self._updates.accept})
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._updates.run)
                await self._peer.run(handlers)
                self.has_left = True
                self._updates.end()
        finally:
            self.is_over.set()

    async def hang_up(self) -> None:
        """Stop sending, and wait until everything queued is written."""
        self._transport.stop_sending()
        await self._transport.flush()

    def _requests(self) -> Mapping[str, RequestHandler]:
        """Return the handlers of the agent's requests, by method."""
        permission = self._answering(RequestPermissionRequest, self._permit)
        requests = {"session/request_permission": permission}
        files = self._editor.files
        if files is not None:
            requests["fs/read_text_file"] = self._answering(ReadTextFileRequest, files.read)
            requests["fs/write_text_file"] = self._answering(WriteTextFileRequest, files.write)
        return {**requests, **self._editor.requests}

    def _answering(
        self, kind: type[A], answer: Callable[[A], Awaitable[WireModel]]
    ) -> RequestHandler:
        """Return a handler that answers after all updates before the request have been shown."""

        def handle(params: JsonValue, call: Call) -> Job:
            del call
            try:
                request = kind.from_wire(params)
            except ValidationError as error:
                raise InvalidParamsError(str(error)) from None

            async def run() -> Reply:
                await self._updates.settle()
                return Reply(await answer(request))

            return run

        return handle

    async def _permit(self, request: RequestPermissionRequest) -> RequestPermissionResponse:
        with anyio.CancelScope() as scope:
            self._questions[scope] = request.session_id
            try:
                return RequestPermissionResponse(outcome=await self._editor.decide(request))
            finally:
                del self._questions[scope]
        # Reached only if `cancel` has cancelled the scope.
        return RequestPermissionResponse(outcome=CancelledPermissionOutcome())
