"""Templates for the chunks of streamed messages, which differ only in their text."""

from typing import TypeAlias

from acp_server.jsonrpc.chunk_template import NotificationForm
from acp_server.protocol.content import TextContent
from acp_server.protocol.updates import AgentMessageChunk, AgentThoughtChunk, SessionNotification

PieceType: TypeAlias = type[AgentMessageChunk | AgentThoughtChunk]
_GAP = "\N{SYMBOL FOR SUBSTITUTE}"
"""Placeholder for the text; it must not occur in any id."""


class Pieces:
    """Cache of a session's chunk template: that of the message currently streamed."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._message: tuple[PieceType, str] | None = None
        self._form: NotificationForm

    def form(self, piece_type: PieceType, message_id: str) -> NotificationForm:
        """Return the template for the chunks of a message."""
        if (piece_type, message_id) != self._message:
            update = piece_type(content=TextContent(text=_GAP), message_id=message_id)
            whole = SessionNotification(session_id=self._session_id, update=update)
            self._form = NotificationForm.around(_GAP, "session/update", whole)
            self._message = piece_type, message_id
        return self._form
