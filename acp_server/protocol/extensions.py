"""Methods of our own, beside the protocol's: their names begin with an underscore."""

from acp_server.protocol.identifiers import SessionId
from acp_server.protocol.model import ExtensibleModel, Lenient, Uint32

ACTIVE_FILE_METHOD = "_hermes/active_file"


class ActiveFileNotification(ExtensibleModel):
    """`_hermes/active_file`: the file in the user's view, as an absolute path, and its line."""

    session_id: SessionId
    path: str
    line: Lenient[Uint32] = None
