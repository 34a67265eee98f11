"""Templates for the chunks of streamed messages, which differ only in their text."""

from typing import TypeAlias

from acp_server.jsonrpc.chunk_template import ChunkTemplate
from acp_server.protocol.content import TextContent
from acp_server.protocol.session_update import SessionUpdateParams
from acp_server.protocol.updates import AgentMessageChunk, AgentThoughtChunk

ChunkType: TypeAlias = type[AgentMessageChunk | AgentThoughtChunk]
_TEXT_PLACEHOLDER = "\N{SYMBOL FOR SUBSTITUTE}"
"""Placeholder for the text; it must not occur in any id."""


class ChunkTemplates:
    """Cache of a session's chunk template: that of the message currently streamed."""

    def __init__(self, session_id: str) -> None:
        self._session_id = session_id
        self._message: tuple[ChunkType, str] | None = None
        self._template: ChunkTemplate

    def template(self, chunk_type: ChunkType, message_id: str) -> ChunkTemplate:
        """Return the template for the chunks of a message."""
        if (chunk_type, message_id) != self._message:
            update = chunk_type(content=TextContent(text=_TEXT_PLACEHOLDER), message_id=message_id)
            params = SessionUpdateParams(self._session_id, update)
            self._template = ChunkTemplate(_TEXT_PLACEHOLDER, "session/update", params)
            self._message = chunk_type, message_id
        return self._template
