"""The parameters of `session/update`, written around an update that encodes itself.

`SessionNotification` describes the same object for reading and for the schema. To write with it, an
update would be validated again as a member of the union of all updates, which takes longer than
encoding it, and validators of all kinds of updates would be built for the few that are sent.
"""

from acp_server.jsonrpc.messages import encode
from acp_server.protocol.updates import DraftUpdate, SessionUpdate
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class SessionUpdateParams:
    """An update, and the id of the session to show it in."""

    session_id: str
    update: SessionUpdate | DraftUpdate

    def to_json(self) -> bytes:
        """Return compact UTF-8 JSON without a newline."""
        return b'{"sessionId":%b,"update":%b}' % (encode(self.session_id), encode(self.update))
