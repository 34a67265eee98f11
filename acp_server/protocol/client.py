"""Typed calls to the editor: one method for each thing that an agent may ask or tell a client.

Owns the method names. Whether the client can answer a call is for the caller to know.
"""

from collections.abc import Hashable

from acp_server.jsonrpc.peer import Peer
from acp_server.protocol.updates import SessionNotification, SessionUpdate


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

    def update_now(self, session_id: str, update: SessionUpdate) -> None:
        """Send `session/update` at once, however much is unsent."""
        notification = SessionNotification(session_id=session_id, update=update)
        self._peer.notify_now("session/update", notification)
