"""One client's connection: the peer to send through, and the client's declared capabilities."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.handlers.child_sessions import ChildSessions
from acp_server.handlers.client_servers import ClientServers
from acp_server.handlers.known_clients import describe_error
from acp_server.jsonrpc.peer import Peer
from acp_server.jsonrpc.transport import Transport
from acp_server.protocol.client import Client
from acp_server.protocol.extensions import HEADLESS_CLIENT
from acp_server.text.json_values import Object, as_object, as_text


@dataclass(slots=True)
class ClientConnection:
    """The connection to one client, shared by everything that sends to it."""

    peer: Peer
    client: Client
    capabilities: Object = field(default_factory=dict[str, JsonValue])
    """What the client declared, as it wrote it: nothing until it has. Read leniently, as
    `protocol.initialize_request.ClientCapabilities` describes: whatever does not fit is absent. To
    build that model takes a thirtieth of the time until a first prompt is answered."""
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

    def record(self, initialize_params: JsonValue) -> None:
        """Take the client's latest capabilities and its name, and write errors as it reads them."""
        params = as_object(initialize_params)
        self.capabilities = as_object(params.get("clientCapabilities"))
        info = as_object(params.get("clientInfo"))
        # Without a version it is no valid description of a client.
        self.client_name = as_text(info.get("name")) if isinstance(info.get("version"), str) else ""
        self.peer.describe_error = partial(describe_error, self.client_name)

    def _supports(self, *names: str) -> bool:
        """Return whether the capability at this path is declared: any object says so."""
        return isinstance(self._declared(names), dict)

    def _allows(self, *names: str) -> bool:
        """Return whether the flag at this path is set."""
        return self._declared(names) is True

    def _declared(self, names: Sequence[str]) -> JsonValue:
        value: JsonValue = self.capabilities
        for name in names:
            value = as_object(value).get(name)
        return value

    @property
    def reads_files(self) -> bool:
        """Whether `fs/read_text_file` may be called."""
        return self._allows("fs", "readTextFile")

    @property
    def writes_files(self) -> bool:
        """Whether `fs/write_text_file` may be called."""
        return self._allows("fs", "writeTextFile")

    @property
    def runs_commands(self) -> bool:
        """Whether `terminal/*` may be called."""
        return self._allows("terminal")

    @property
    def is_attended(self) -> bool:
        """Whether a person may use the client: not if this program drives itself."""
        return self.client_name != HEADLESS_CLIENT

    @property
    def shows_notices(self) -> bool:
        """Whether notices may be sent."""
        return self._supports("session", "notices")

    @property
    def shows_compactions(self) -> bool:
        """Whether the client shows compactions of the conversation."""
        return self._supports("session", "compaction")

    @property
    def shows_switches(self) -> bool:
        """Whether the client shows boolean config options."""
        return self._supports("session", "configOptions", "boolean")

    @property
    def shows_plans_by_id(self) -> bool:
        """Whether the client shows several plans, each by its id (draft)."""
        return self._supports("plan")

    @property
    def shows_child_sessions(self) -> bool:
        """Whether the client shows sub-agents as child sessions (draft)."""
        return self._supports("subagents")

    @property
    def nests_sub_agents(self) -> bool:
        """Whether the client shows a sub-agent's texts below the call that delegated."""
        return self._allows("_meta", "subagent-transcript")

    @property
    def reads_usage(self) -> bool:
        """Whether responses to prompts may have `usage` (draft), which has no capability."""
        return self.sends_drafts or self.shows_plans_by_id

    @property
    def shows_forms(self) -> bool:
        """Whether the client shows forms that the user fills in."""
        return self._supports("elicitation", "form")

    @property
    def shows_pages(self) -> bool:
        """Whether the client opens web pages."""
        return self._supports("elicitation", "url")

    @property
    def answers_symbols(self) -> bool:
        """Whether `_hermes/symbols` may be sent: the client's language features can be asked."""
        return self._supports("_meta", "hermes", "symbols")

    @property
    def shows_terminal_output(self) -> bool:
        """Whether the client shows output under `_meta` as a live terminal."""
        return self._allows("_meta", "terminal_output")
