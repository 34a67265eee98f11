"""Typed calls to the editor: one method for each thing that an agent may ask a client.

Owns the method names. Whether the client can answer a call is for the caller to know. Needed from
the first tool on, and imported no earlier.
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


class Calls:
    """What the editor can be asked: each raises ClientError when there is no answer; and told."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def request_permission(
        self, request: RequestPermissionRequest
    ) -> RequestPermissionResponse:
        """Ask the user; cancelling takes the question back."""
        return await self._client.ask(
            "session/request_permission", request, RequestPermissionResponse
        )

    async def create_elicitation(
        self, request: CreateElicitationRequest
    ) -> CreateElicitationResponse:
        """Ask the user to fill in a form, or to open a page."""
        return await self._client.ask("elicitation/create", request, CreateElicitationResponse)

    async def complete_elicitation(self, notification: CompleteElicitationNotification) -> None:
        """Tell that a page has done its work."""
        await self._client.tell("elicitation/complete", notification)

    async def read_text_file(self, request: ReadTextFileRequest) -> ReadTextFileResponse:
        """Read a file as the editor has it."""
        return await self._client.ask("fs/read_text_file", request, ReadTextFileResponse)

    async def write_text_file(self, request: WriteTextFileRequest) -> WriteTextFileResponse:
        """Write a file through the editor."""
        return await self._client.ask("fs/write_text_file", request, WriteTextFileResponse)

    async def create_terminal(self, request: CreateTerminalRequest) -> CreateTerminalResponse:
        """Start a command in a terminal of the editor's."""
        return await self._client.ask("terminal/create", request, CreateTerminalResponse)

    async def terminal_output(self, request: TerminalOutputRequest) -> TerminalOutputResponse:
        """Return what a terminal holds."""
        return await self._client.ask("terminal/output", request, TerminalOutputResponse)

    async def wait_for_terminal_exit(
        self, request: WaitForTerminalExitRequest
    ) -> WaitForTerminalExitResponse:
        """Wait for the end of a terminal's command."""
        return await self._client.ask(
            "terminal/wait_for_exit", request, WaitForTerminalExitResponse
        )

    async def kill_terminal(self, request: KillTerminalRequest) -> KillTerminalResponse:
        """End a terminal's command."""
        return await self._client.ask("terminal/kill", request, KillTerminalResponse)

    async def release_terminal(self, request: ReleaseTerminalRequest) -> ReleaseTerminalResponse:
        """Give a terminal back."""
        return await self._client.ask("terminal/release", request, ReleaseTerminalResponse)
