"""One client's connection: the peer to send through, and the client's declared capabilities."""

from dataclasses import dataclass, field
from functools import partial

from anyio.abc import TaskGroup

from acp_server.handlers.child_sessions import ChildSessions
from acp_server.handlers.client_servers import ClientServers
from acp_server.handlers.known_clients import describe_error
from acp_server.jsonrpc.peer import Peer
from acp_server.jsonrpc.transport import Transport
from acp_server.protocol.client import Client
from acp_server.protocol.extensions import HEADLESS_CLIENT
from acp_server.protocol.initialize_request import ClientCapabilities


@dataclass(slots=True)
class ClientConnection:
    """The connection to one client, shared by everything that sends to it."""

    peer: Peer
    client: Client
    capabilities: ClientCapabilities = field(default_factory=ClientCapabilities)
    """The client's capabilities: none until it declares them."""
    client_name: str = ""
    """The name the client gives itself."""
    sends_drafts: bool = False
    """Whether draft parts are sent that no capability of the client asks for (`--unstable`)."""
    children: ChildSessions = field(default_factory=ChildSessions)
    """The sub-agents that run as child sessions."""
    servers: ClientServers = field(init=False)
    """The MCP servers that the client provides."""
    background: TaskGroup = field(init=False)
    """Tasks between requests; set while the connection is served."""

    def __post_init__(self) -> None:
        self.servers = ClientServers(self.peer)

    @classmethod
    def from_transport(cls, transport: Transport) -> "ClientConnection":
        """Return the connection over a transport."""
        peer = Peer(transport)
        return cls(peer, Client(peer))

    def identify(self, name: str) -> None:
        """Take the client's name, and write errors as this client reads them."""
        self.client_name = name
        self.peer.describe_error = partial(describe_error, name)

    @property
    def is_attended(self) -> bool:
        """Whether a person may use the client: not if this program drives itself."""
        return self.client_name != HEADLESS_CLIENT

    @property
    def shows_notices(self) -> bool:
        """Whether notices may be sent."""
        session = self.capabilities.session
        return session is not None and session.notices is not None

    @property
    def shows_compactions(self) -> bool:
        """Whether the client shows compactions of the conversation."""
        session = self.capabilities.session
        return session is not None and session.compaction is not None

    @property
    def shows_switches(self) -> bool:
        """Whether the client shows boolean config options."""
        session = self.capabilities.session
        options = None if session is None else session.config_options
        return options is not None and options.boolean is not None

    @property
    def shows_plans_by_id(self) -> bool:
        """Whether the client shows several plans, each by its id (draft)."""
        return self.capabilities.plan is not None

    @property
    def shows_child_sessions(self) -> bool:
        """Whether the client shows sub-agents as child sessions (draft)."""
        return self.capabilities.subagents is not None

    @property
    def nests_sub_agents(self) -> bool:
        """Whether the client shows a sub-agent's texts below the call that delegated."""
        return (self.capabilities.meta or {}).get("subagent-transcript") is True

    @property
    def reads_usage(self) -> bool:
        """Whether responses to prompts may have `usage` (draft), which has no capability."""
        return self.sends_drafts or self.shows_plans_by_id

    @property
    def shows_forms(self) -> bool:
        """Whether the client shows forms that the user fills in."""
        elicitation = self.capabilities.elicitation
        return elicitation is not None and elicitation.form is not None

    @property
    def answers_symbols(self) -> bool:
        """Whether `_hermes/symbols` may be sent: the client's language features can be asked."""
        extensions = (self.capabilities.meta or {}).get("hermes")
        return isinstance(extensions, dict) and isinstance(extensions.get("symbols"), dict)

    @property
    def shows_terminal_output(self) -> bool:
        """Whether the client shows output under `_meta` as a live terminal."""
        return (self.capabilities.meta or {}).get("terminal_output") is True
