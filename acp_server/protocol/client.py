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
