"""Carries MCP messages to servers that the client provides (draft: MCP over ACP).

Each MCP request is a request `mcp/message` of ours. Notifications that belong to it are
notifications `mcp/message` of the client.
"""

import itertools
from collections.abc import Mapping

from pydantic import JsonValue

from acp_server.jsonrpc.errors import (
    METHOD_NOT_FOUND,
    REQUEST_CANCELLED,
    ConnectionClosedError,
    RemoteError,
)
from acp_server.jsonrpc.peer import Peer
from acp_server.protocol.extensions import (
    MCP_MESSAGE_METHOD,
    MessageMcpNotification,
    MessageMcpRequest,
)
from acp_server.session.ports.client_servers import ClientServerError, ReceiveMcpNotification

RESOURCE_LIMIT_EXCEEDED = -33000
SERVER_UNAVAILABLE = -33001
BACKEND_FAILED = -33002
"""Error codes of the draft for failures of the channel, as opposed to errors of the server."""
GONE = "the editor does not provide this server any more"
NOT_SUPPORTED = "the editor does not carry MCP messages"
DISCONNECTED = "the editor has closed the connection"
REASONS = {
    REQUEST_CANCELLED: "the editor has cancelled the request",
    RESOURCE_LIMIT_EXCEEDED: "the editor carries no more requests at once",
    BACKEND_FAILED: "the editor could not run the server",
}


class ClientServers:
    """Requests to the servers of one client that wait for their outcome."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._receivers: dict[tuple[str, str], ReceiveMcpNotification] = {}
        self._ids = itertools.count(1)

    def new_request_id(self) -> str:
        """Return an id that no other request of this connection has."""
        return f"mcp-{next(self._ids)}"

    async def request(
        self,
        server_id: str,
        request_id: str,
        method: str,
        parameters: Mapping[str, JsonValue],
        receive: ReceiveMcpNotification,
    ) -> Mapping[str, JsonValue]:
        """Send a request; see `session.ports.client_servers.ClientServerChannel`.

        Raises:
            ClientServerError: The client did not pass it on, or has disconnected.
        """
        envelope = MessageMcpRequest(
            server_id=server_id, request_id=request_id, method=method, params=dict(parameters)
        )
        self._receivers[server_id, request_id] = receive
        try:
            outcome = await self._peer.request(MCP_MESSAGE_METHOD, envelope)
        except RemoteError as error:
            raise _to_channel_error(error) from error
        except ConnectionClosedError as error:
            raise ClientServerError(DISCONNECTED, is_gone=True) from error
        finally:
            del self._receivers[server_id, request_id]
        return outcome if isinstance(outcome, dict) else {}

    def receive(self, notification: MessageMcpNotification) -> None:
        """Pass a notification on to the request that it belongs to; late ones are dropped."""
        receiver = self._receivers.get((notification.server_id, notification.request_id))
        if receiver is not None:
            receiver(notification.method, notification.params or {})


def _to_channel_error(error: RemoteError) -> ClientServerError:
    if error.code == SERVER_UNAVAILABLE:
        return ClientServerError(GONE, is_gone=True)
    if error.code == METHOD_NOT_FOUND:
        return ClientServerError(NOT_SUPPORTED, is_gone=True)
    reason = REASONS.get(error.code, "the editor did not carry the request")
    details = error.data.get("details") if isinstance(error.data, dict) else None
    return ClientServerError(f"{reason}: {details or error.message}")
