"""The port to MCP servers that the client itself provides, over its own connection."""

from collections.abc import Callable, Mapping
from typing import Protocol

from pydantic import JsonValue

ReceiveMcpNotification = Callable[[str, Mapping[str, JsonValue]], None]
"""Called with the method and the parameters of each notification that belongs to a request."""


class ClientServerError(Exception):
    """A message did not reach a server of the client; `reason` says why, for the user.

    `is_gone` means that the client no longer provides the server.
    """

    def __init__(self, reason: str, *, is_gone: bool = False) -> None:
        super().__init__(reason)
        self.reason = reason
        self.is_gone = is_gone


class ClientServerChannel(Protocol):
    """Carries MCP requests to the servers of one client."""

    def new_request_id(self) -> str:
        """Return an id that no other request of this connection has."""
        ...

    async def request(
        self,
        server_id: str,
        request_id: str,
        method: str,
        parameters: Mapping[str, JsonValue],
        receive: ReceiveMcpNotification,
    ) -> Mapping[str, JsonValue]:
        """Send a request and return its outcome: an object with `result` or `error`.

        `receive` gets the request's notifications until the outcome arrives. Cancelling the wait
        cancels the request.

        Raises:
            ClientServerError: The client did not pass it on, or has disconnected.
        """
        ...
