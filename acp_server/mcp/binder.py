"""Binds MCP servers to a session, so that their tools pass the session's permission gate."""

from collections.abc import Sequence
from functools import partial

from anyio.abc import TaskGroup

from acp_server.mcp.config import McpConfig
from acp_server.mcp.ports import (
    LoadConnector,
    McpContext,
    McpLimits,
    ServerError,
    TrackFileChanges,
)
from acp_server.mcp.project_files import read_server_files
from acp_server.mcp.server_configs import enabled_servers, merge_servers
from acp_server.mcp.session_servers import SessionServers
from acp_server.mcp.tool_names import RESOURCE_TOOL
from acp_server.permissions.gate import Gate
from acp_server.session.context import SessionContext
from acp_server.session.ports.client_servers import ClientServerChannel
from acp_server.session.ports.elicitation import Elicitor
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.tool_names import TOOL_NAMES
from acp_server.turn.conversation import Message
from acp_server.turn.errors import TurnError
from prompt_engine.threats import scan


@frozen_dataclass
class McpSessionBinder:
    """Creates the servers of one session once its permission gate exists."""

    load_connector: LoadConnector
    config: McpConfig
    session: SessionContext
    requested: Sequence[ServerConfig]
    """The servers that the editor named."""
    elicitor: Elicitor
    channel: ClientServerChannel
    tasks: TaskGroup
    """Runs the servers."""

    def __call__(self, gate: Gate, tracking_file_changes: TrackFileChanges) -> SessionServers:
        """Return the session's servers, not yet started."""
        mcp_context = McpContext(
            gate=gate,
            roots=self.session.workspace.roots,
            tasks=self.tasks,
            load_connector=self.load_connector,
            elicitor=self.elicitor,
            channel=self.channel,
            scan=scan_for_injection,
            limits=McpLimits(
                first_call_seconds=self.config.first_call_seconds,
                is_unattended=self.config.is_unattended,
            ),
            tracking_file_changes=tracking_file_changes,
            reserved_names=(*TOOL_NAMES, RESOURCE_TOOL),
            ask_model=self._ask_model,
            notify_user=self.session.notices.add,
            outputs=self.session.outputs,
            read_server_files=partial(
                read_server_files,
                self.session.workspace.roots,
                self.config.environment,
                self.config.secret_names,
            ),
        )
        return SessionServers(
            merge_servers(self.requested, enabled_servers(self.config.configured)), mcp_context
        )

    async def _ask_model(self, messages: Sequence[Message], instructions: str) -> tuple[str, str]:
        """Ask the session's model; see `ports.AskModel`."""
        model = self.session.options.model_id
        try:
            return await self.session.models.answer(messages, instructions), model
        except TurnError as error:
            raise ServerError(f"the model could not be asked: {error.reason}") from error


def scan_for_injection(text: str) -> Sequence[str]:
    """Scan a text for prompt injection; return the kinds of suspicious patterns, each once."""
    return tuple(dict.fromkeys(finding.pattern for finding in scan(text, "mark")))
