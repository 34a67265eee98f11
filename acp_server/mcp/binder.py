"""Binds MCP servers to a session, so that their tools pass the session's permission gate."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from anyio.abc import TaskGroup

from acp_server.mcp.ports import Changing, Limits
from acp_server.mcp.server_configs import configured, joined
from acp_server.mcp.session_servers import Around, SessionServers
from acp_server.permissions.gate import Gate
from acp_server.session.ports.elicitation import Elicitor
from acp_server.session.session import Session
from acp_server.startup.fast_dataclass import frozen
from acp_server.tools.factory import TOOL_NAMES
from acp_server.tools.toolbox import ServerTools
from prompt_engine.threats import scan

if TYPE_CHECKING:
    from acp_server.mcp.lazy_imports import McpLoader, McpPremises


@frozen
class Joint:
    """Creates the servers of one session once its permission gate exists."""

    loader: "McpLoader"
    premises: "McpPremises"
    session: Session
    elicitor: Elicitor
    tasks: TaskGroup

    def __call__(self, gate: Gate, changing: Changing) -> ServerTools:
        """Start connecting the session's servers; return the source of their tools."""
        around = Around(
            gate=gate,
            roots=self.session.workspace.roots,
            tasks=self.tasks,
            load=partial(self.loader.load, self.tasks),
            elicitor=self.elicitor,
            suspect=suspicions,
            limits=Limits(first_call_seconds=self.premises.first_call_seconds),
            changing=changing,
            taken=TOOL_NAMES,
            note_change=self.session.servers.note_change,
        )
        configs = joined(self.session.servers.requested, configured(self.premises.configured))
        servers = SessionServers(configs, around)
        self.session.servers.take(servers)
        return servers


def suspicions(text: str) -> Sequence[str]:
    """Scan a text for prompt injection; return the kinds of suspicious patterns, each once."""
    return tuple(dict.fromkeys(finding.pattern for finding in scan(text, "context")))
