"""Binds MCP servers to a session, so that their tools pass the session's permission gate."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from anyio.abc import TaskGroup

from acp_server.mcp.ports import McpLimits, TrackFileChanges
from acp_server.mcp.server_configs import enabled_servers, merge_servers
from acp_server.mcp.session_servers import McpContext, SessionServers
from acp_server.permissions.gate import Gate
from acp_server.session.ports.elicitation import Elicitor
from acp_server.session.session import Session
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.factory import TOOL_NAMES
from acp_server.tools.toolbox import ServerTools
from prompt_engine.threats import scan

if TYPE_CHECKING:
    from acp_server.mcp.lazy_imports import McpConfig, McpLoader


@frozen_dataclass
class McpSessionBinder:
    """Creates the servers of one session once its permission gate exists."""

    loader: "McpLoader"
    config: "McpConfig"
    session: Session
    elicitor: Elicitor
    tasks: TaskGroup

    def __call__(self, gate: Gate, tracking_file_changes: TrackFileChanges) -> ServerTools:
        """Start connecting the session's servers; return the source of their tools."""
        mcp_context = McpContext(
            gate=gate,
            roots=self.session.workspace.roots,
            tasks=self.tasks,
            load_connector=partial(self.loader.load, self.tasks),
            elicitor=self.elicitor,
            scan=scan_for_injection,
            limits=McpLimits(first_call_seconds=self.config.first_call_seconds),
            tracking_file_changes=tracking_file_changes,
            reserved_names=TOOL_NAMES,
            on_change=self.session.servers.update_commands,
        )
        configs = merge_servers(
            self.session.servers.requested, enabled_servers(self.config.configured)
        )
        servers = SessionServers(configs, mcp_context)
        self.session.servers.set_servers(servers)
        return servers


def scan_for_injection(text: str) -> Sequence[str]:
    """Scan a text for prompt injection; return the kinds of suspicious patterns, each once."""
    return tuple(dict.fromkeys(finding.pattern for finding in scan(text, "context")))
