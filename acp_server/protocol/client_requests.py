"""Typed requests to the client: one method for each ACP request that an agent may send.

Owns the method names. Callers must check the client's capabilities. Imported only with the first
tool, to keep the start fast.
"""

from acp_server.protocol.client import Client
from acp_server.protocol.elicitation import (
    CompleteElicitationNotification,
    CreateElicitationRequest,
    CreateElicitationResponse,
)
from acp_server.protocol.files import (
    ReadTextFileRequest,
    ReadTextFileResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)
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


class ClientRequests:
    """Requests and notifications to the client. Requests raise ClientError if they fail."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def request_permission(
        self, request: RequestPermissionRequest
    ) -> RequestPermissionResponse:
        """Ask the user for permission; cancelling withdraws the request."""
        return await self._client.request(
            "session/request_permission", request, RequestPermissionResponse
        )

    async def create_elicitation(
        self, request: CreateElicitationRequest
    ) -> CreateElicitationResponse:
        """Ask the user to fill in a form or to open a URL."""
        return await self._client.request("elicitation/create", request, CreateElicitationResponse)

    async def complete_elicitation(self, notification: CompleteElicitationNotification) -> None:
        """Notify the client that a URL elicitation is complete."""
        await self._client.notify("elicitation/complete", notification)

    async def read_text_file(self, request: ReadTextFileRequest) -> ReadTextFileResponse:
        """Read a file through the client, including unsaved changes."""
        return await self._client.request("fs/read_text_file", request, ReadTextFileResponse)

    async def write_text_file(self, request: WriteTextFileRequest) -> WriteTextFileResponse:
        """Write a file through the client."""
        return await self._client.request("fs/write_text_file", request, WriteTextFileResponse)

    async def create_terminal(self, request: CreateTerminalRequest) -> CreateTerminalResponse:
        """Start a command in a new client terminal."""
        return await self._client.request("terminal/create", request, CreateTerminalResponse)

    async def terminal_output(self, request: TerminalOutputRequest) -> TerminalOutputResponse:
        """Return a terminal's output so far."""
        return await self._client.request("terminal/output", request, TerminalOutputResponse)

    async def wait_for_terminal_exit(
        self, request: WaitForTerminalExitRequest
    ) -> WaitForTerminalExitResponse:
        """Wait until a terminal's command has exited."""
        return await self._client.request(
            "terminal/wait_for_exit", request, WaitForTerminalExitResponse
        )

    async def kill_terminal(self, request: KillTerminalRequest) -> KillTerminalResponse:
        """Kill a terminal's command; the terminal stays."""
        return await self._client.request("terminal/kill", request, KillTerminalResponse)

    async def release_terminal(self, request: ReleaseTerminalRequest) -> ReleaseTerminalResponse:
        """Release a terminal; kills its command if it still runs."""
        return await self._client.request("terminal/release", request, ReleaseTerminalResponse)
