"""Text files, read and written through the client, which knows its unsaved buffers.

Paths are absolute; lines are counted from 1, whatever the schema's minimum says.
"""

from acp_server.protocol.identifiers import SessionId
from acp_server.protocol.model import ExtensibleModel, Omissible, Uint32


class ReadTextFileRequest(ExtensibleModel):
    """`fs/read_text_file`: the text of a file, or `limit` lines of it from `line` on."""

    session_id: SessionId
    path: str
    line: Omissible[Uint32] = None
    limit: Omissible[Uint32] = None


class ReadTextFileResponse(ExtensibleModel):
    """The text."""

    content: str


class WriteTextFileRequest(ExtensibleModel):
    """`fs/write_text_file`: make this the whole text of a file."""

    session_id: SessionId
    path: str
    content: str


class WriteTextFileResponse(ExtensibleModel):
    """The file is written."""
