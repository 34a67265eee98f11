"""Typed calls to the editor: one method for each thing that an agent may ask or tell a client.

Owns the method names. Whether the client can answer a call is for the caller to know.
"""

from collections.abc import Hashable
from typing import TypeVar

from pydantic import ValidationError

from acp_server.jsonrpc.errors import ConnectionClosedError, RemoteError
from acp_server.jsonrpc.peer import Peer
from acp_server.protocol.elicitation import (
    CreateElicitationRequest,
    CreateElicitationResponse,
)
from acp_server.protocol.files import (
    ReadTextFileRequest,
    ReadTextFileResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)
from acp_server.protocol.model import WireModel
from acp_server.protocol.terminals import (
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    KillTerminalResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
)
from acp_server.protocol.tool_calls import RequestPermissionRequest, RequestPermissionResponse
from acp_server.protocol.updates import SessionNotification, SessionUpdate

R = TypeVar("R", bound=WireModel)


class ClientError(Exception):
    """The client answered with an error, or with something that is no answer, or has left."""


class Client:
    """The editor at the other end. Every request raises ClientError when there is no answer."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer

    async def update(
        self, session_id: str, update: SessionUpdate, replaces: Hashable = None
    ) -> None:
        """Send `session/update`, waiting first while too much is unsent.

        With `replaces`, an unsent update of the same key is dropped in favour of this one.
        """
        notification = SessionNotification(session_id=session_id, update=update)
        await self._peer.notify("session/update", notification, replaces)

    @property
    def has_room(self) -> bool:
        """Whether the queue to the editor is below its bound."""
        return self._peer.has_room

    async def wait_for_room(self) -> None:
        """Wait while too much is unsent."""
        await self._peer.wait_for_room()

    def update_now(self, session_id: str, update: SessionUpdate, replaces: Hashable = None) -> None:
        """Send `session/update` at once, however much is unsent; `replaces` as in `update`."""
        notification = SessionNotification(session_id=session_id, update=update)
        self._peer.notify_now("session/update", notification, replaces)

    async def request_permission(
        self, request: RequestPermissionRequest
    ) -> RequestPermissionResponse:
        """Ask the user; cancelling takes the question back."""
        return await self._ask("session/request_permission", request, RequestPermissionResponse)

    async def create_elicitation(
        self, request: CreateElicitationRequest
    ) -> CreateElicitationResponse:
        """Ask the user to fill in a form, or to open a page."""
        return await self._ask("elicitation/create", request, CreateElicitationResponse)

    async def read_text_file(self, request: ReadTextFileRequest) -> ReadTextFileResponse:
        """Read a file as the editor has it."""
        return await self._ask("fs/read_text_file", request, ReadTextFileResponse)

    async def write_text_file(self, request: WriteTextFileRequest) -> WriteTextFileResponse:
        """Write a file through the editor."""
        return await self._ask("fs/write_text_file", request, WriteTextFileResponse)

    async def create_terminal(self, request: CreateTerminalRequest) -> CreateTerminalResponse:
        """Start a command in a terminal of the editor's."""
        return await self._ask("terminal/create", request, CreateTerminalResponse)

    async def terminal_output(self, request: TerminalOutputRequest) -> TerminalOutputResponse:
        """Return what a terminal holds."""
        return await self._ask("terminal/output", request, TerminalOutputResponse)

    async def wait_for_terminal_exit(
        self, request: WaitForTerminalExitRequest
    ) -> WaitForTerminalExitResponse:
        """Wait for the end of a terminal's command."""
        return await self._ask("terminal/wait_for_exit", request, WaitForTerminalExitResponse)

    async def kill_terminal(self, request: KillTerminalRequest) -> KillTerminalResponse:
        """End a terminal's command."""
        return await self._ask("terminal/kill", request, KillTerminalResponse)

    async def release_terminal(self, request: ReleaseTerminalRequest) -> ReleaseTerminalResponse:
        """Give a terminal back."""
        return await self._ask("terminal/release", request, ReleaseTerminalResponse)

    async def _ask(self, method: str, request: WireModel, answer: type[R]) -> R:
        """Ask, and read the answer; null counts as an empty object."""
        try:
            result = await self._peer.request(method, request)
            return answer.from_wire({} if result is None else result)
        except RemoteError as error:
            raise ClientError(_one_line(error)) from error
        except ConnectionClosedError as error:
            reason = "the editor has closed the connection"
            raise ClientError(reason) from error
        except ValidationError as error:
            reason = f"the editor's answer to {method} does not fit the protocol"
            raise ClientError(reason) from error


def _one_line(error: RemoteError) -> str:
    """Return what an error says, with its detail where it has one, whatever that is called."""
    data = error.data
    details = [data.get("message"), data.get("details")] if isinstance(data, dict) else [data]
    texts = [error.message, *(each for each in details if isinstance(each, str) and each)]
    return " ".join(": ".join(texts).split())[:500]
