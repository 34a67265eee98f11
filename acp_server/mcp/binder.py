"""Binds MCP servers to a session, so that their tools pass the session's permission gate."""

from collections.abc import Sequence

from anyio.abc import TaskGroup

from acp_server.mcp.config import McpConfig
from acp_server.mcp.ports import LoadConnector, McpContext, McpLimits, TrackFileChanges
from acp_server.mcp.server_configs import enabled_servers, merge_servers
from acp_server.mcp.session_servers import SessionServers
from acp_server.permissions.gate import Gate
from acp_server.session.ports.elicitation import Elicitor
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.factory import TOOL_NAMES
from prompt_engine.threats import scan


@frozen_dataclass
class McpSessionBinder:
    """Creates the servers of one session once its permission gate exists."""

    load_connector: LoadConnector
    config: McpConfig
    workspace: SessionWorkspace
    outputs: SavedOutputs
    requested: Sequence[ServerConfig]
    """The servers that the editor named."""
    elicitor: Elicitor
    tasks: TaskGroup
    """Runs the servers."""

    def __call__(self, gate: Gate, tracking_file_changes: TrackFileChanges) -> SessionServers:
        """Return the session's servers, not yet started."""
        mcp_context = McpContext(
            gate=gate,
            roots=self.workspace.roots,
            tasks=self.tasks,
            load_connector=self.load_connector,
            elicitor=self.elicitor,
            scan=scan_for_injection,
            limits=McpLimits(first_call_seconds=self.config.first_call_seconds),
            tracking_file_changes=tracking_file_changes,
            reserved_names=TOOL_NAMES,
            outputs=self.outputs,
        )
        return SessionServers(
            merge_servers(self.requested, enabled_servers(self.config.configured)), mcp_context
        )


def scan_for_injection(text: str) -> Sequence[str]:
    """Scan a text for prompt injection; return the kinds of suspicious patterns, each once."""
    return tuple(dict.fromkeys(finding.pattern for finding in scan(text, "mark")))
