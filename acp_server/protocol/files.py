"""Reading and writing text files through the client, which knows unsaved changes.

Paths are absolute. Lines are counted from 1, although the ACP schema allows 0.
"""

from acp_server.protocol.identifiers import SessionId
from acp_server.protocol.model import ExtensibleModel, Omissible, Uint32


class ReadTextFileRequest(ExtensibleModel):
    """`fs/read_text_file`: read a file, or `limit` lines of it starting at `line`."""

    session_id: SessionId
    path: str
    line: Omissible[Uint32] = None
    limit: Omissible[Uint32] = None


class ReadTextFileResponse(ExtensibleModel):
    """The text."""

    content: str


class WriteTextFileRequest(ExtensibleModel):
    """`fs/write_text_file`: replace the whole text of a file."""

    session_id: SessionId
    path: str
    content: str


class WriteTextFileResponse(ExtensibleModel):
    """Confirms that the file is written."""
