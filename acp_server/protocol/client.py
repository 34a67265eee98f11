"""The client at the other end of the connection: notifications and requests.

Callers name the method and check the client's capabilities.
"""

from collections.abc import Hashable
from typing import TypeVar

from pydantic import ValidationError

from acp_server.jsonrpc.chunk_template import ChunkTemplate
from acp_server.jsonrpc.errors import ConnectionClosedError, RemoteError
from acp_server.jsonrpc.messages import notification_line
from acp_server.jsonrpc.peer import Peer
from acp_server.protocol.model import WireModel
from acp_server.protocol.session_update import SessionUpdateParams
from acp_server.protocol.updates import DraftUpdate, SessionUpdate

ResultT = TypeVar("ResultT", bound=WireModel)


class ClientError(Exception):
    """A request failed: error response, invalid result, or the client has disconnected."""


class InvalidAnswerError(ClientError):
    """The client answered, but its result does not follow the protocol."""


class Client:
    """Sends notifications and requests to the connected client."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._transport = peer.transport

    async def send_update(self, session_id: str, update: SessionUpdate) -> None:
        """Send `session/update`, after waiting for back-pressure to clear."""
        await self._transport.wait_for_capacity()
        self.send_update_now(session_id, update)

    def send_update_now(
        self, session_id: str, update: SessionUpdate | DraftUpdate, replace_key: Hashable = None
    ) -> None:
        """Send `session/update` without back-pressure.

        With a `replace_key`, an unsent update with the same key is replaced by this one.
        """
        params = SessionUpdateParams(session_id, update)
        self._transport.send(notification_line("session/update", params), replace_key)

    def send_chunk_now(self, template: ChunkTemplate, text: str) -> None:
        """Send the next chunk of a streamed message; unread chunks of it may be coalesced."""
        self._transport.send(template.render(text), coalesce_key=template.coalesce_key)

    async def notify(self, method: str, notification: WireModel) -> None:
        """Send a notification, after waiting for back-pressure to clear."""
        await self._peer.notify(method, notification)

    async def request(self, method: str, params: WireModel, result_type: type[ResultT]) -> ResultT:
        """Send a request and validate its result.

        Raises:
            ClientError: The client has disconnected, or sent an error or an invalid result.
        """
        try:
            result = await self._peer.request(method, params)
            # Some clients answer null where the schema has an object without required fields.
            return result_type.from_wire({} if result is None else result)
        except RemoteError as error:
            raise ClientError(_one_line(error)) from error
        except ConnectionClosedError as error:
            reason = "the editor has closed the connection"
            raise ClientError(reason) from error
        except ValidationError as error:
            reason = f"the editor's answer to {method} does not fit the protocol"
            raise InvalidAnswerError(reason) from error


def _one_line(error: RemoteError) -> str:
    """Return an error's message and details on one line, at most 500 characters."""
    data = error.data
    details = [data.get("message"), data.get("details")] if isinstance(data, dict) else [data]
    texts = [error.message]
    for each in details:
        if isinstance(each, str) and each and each not in texts[0]:
            texts.append(each)
    return " ".join(": ".join(texts).split())[:500]
