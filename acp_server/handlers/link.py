"""One client's line: what can be sent over it, and what the client has said it understands."""

from dataclasses import dataclass, field

from anyio.abc import TaskGroup

from acp_server.jsonrpc.peer import Peer
from acp_server.jsonrpc.transport import Transport
from acp_server.protocol.client import Client
from acp_server.protocol.extensions import HEADLESS_CLIENT
from acp_server.protocol.lifecycle import ClientCapabilities


@dataclass(slots=True)
class Link:
    """The way to one client; shared by all that speak to it."""

    peer: Peer
    client: Client
    capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)
    """What the client can do: nothing, until it says so."""
    client_name: str = ""
    """What the client says that it is."""
    background: TaskGroup = field(init=False)
    """For what goes on between requests; there while the connection is served."""

    @classmethod
    def over(cls, transport: Transport) -> "Link":
        """Return the line that a transport carries."""
        peer = Peer(transport)
        return cls(peer, Client(peer))

    @property
    def is_attended(self) -> bool:
        """Whether there may be a person at the other end: not where we drive ourselves."""
        return self.client_name != HEADLESS_CLIENT

    @property
    def shows_notices(self) -> bool:
        """Whether notices may be sent."""
        session = self.capabilities.session
        return session is not None and session.notices is not None

    @property
    def shows_compactions(self) -> bool:
        """Whether it shows when a conversation is summed up, and how."""
        session = self.capabilities.session
        return session is not None and session.compaction is not None

    @property
    def shows_terminal_output(self) -> bool:
        """Whether it shows output that comes under `_meta` as a live terminal."""
        return (self.capabilities.meta or {}).get("terminal_output") is True
