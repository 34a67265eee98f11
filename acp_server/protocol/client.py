"""The editor at the other end: telling it something, and asking.

What it can be asked is in `calls`, which is imported when there is something to ask.
"""

from collections.abc import Hashable
from typing import TypeVar

from pydantic import ValidationError

from acp_server.jsonrpc.errors import ConnectionClosedError, RemoteError
from acp_server.jsonrpc.forms import NotificationForm
from acp_server.jsonrpc.peer import Peer
from acp_server.protocol.model import WireModel
from acp_server.protocol.updates import SessionNotification, SessionUpdate

R = TypeVar("R", bound=WireModel)


class ClientError(Exception):
    """The client answered with an error, or with something that is no answer, or has left."""


class Client:
    """The editor at the other end."""

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

    def say_now(self, form: NotificationForm, text: str) -> None:
        """Send one more piece of a streamed message at once; see `pieces`."""
        self._peer.notify_piece(form, text)

    async def tell(self, method: str, notification: WireModel) -> None:
        """Send a notification, waiting first while too much is unsent."""
        await self._peer.notify(method, notification)

    async def ask(self, method: str, request: WireModel, answer: type[R]) -> R:
        """Ask, and read the answer; null counts as an empty object.

        Raises:
            ClientError: There is no answer, or none that fits.
        """
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
