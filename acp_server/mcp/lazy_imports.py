"""Lazy imports of the MCP client, in a thread: this package for a session, the SDK for a server.

Importing the SDK takes over a second, so it is not imported before a session has a server.
"""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.config.values import McpServerSetting
from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from acp_server.mcp.binder import McpSessionBinder
    from acp_server.mcp.ports import McpConnector
    from acp_server.session.ports.elicitation import Elicitor
    from acp_server.session.session import Session


@frozen_dataclass
class McpConfig:
    """MCP configuration shared by all sessions."""

    environment: Mapping[str, str]
    """The environment of this process; servers inherit a few safe variables."""
    secret_names: Collection[str]
    """The names of variables with secrets, which no server inherits."""
    configured: Mapping[str, McpServerSetting] = field(default_factory=dict[str, McpServerSetting])
    """The servers of the settings, by name."""
    first_call_seconds: float = 3.0
    """How long the first model request waits for connecting servers."""


class McpLoader:
    """Loads the MCP client on first use; one instance for all sessions."""

    def __init__(self, config: McpConfig) -> None:
        self._config = config
        self._lock = anyio.Lock()
        self._connector: McpConnector | None = None

    async def load(self, tasks: TaskGroup) -> "McpConnector":
        """Return the connector; the first call imports the SDK, concurrent calls wait for that.

        The task group `tasks` runs the process watcher and must outlive every session.
        """
        async with self._lock:
            if self._connector is None:
                self._connector = await to_thread.run_sync(_import_connector, tasks, self._config)
        return self._connector

    async def make_binder(
        self, session: "Session", elicitor: "Elicitor", tasks: TaskGroup
    ) -> "McpSessionBinder":
        """Return the binder of a session's servers; the servers run in the task group `tasks`."""
        return await to_thread.run_sync(_make_binder, self, self._config, session, elicitor, tasks)

    async def close(self) -> None:
        """Close the shared resources; call it after all sessions are closed."""
        connector, self._connector = self._connector, None
        if connector is not None:
            await connector.close()


def _make_binder(
    loader: McpLoader,
    config: McpConfig,
    session: "Session",
    elicitor: "Elicitor",
    tasks: TaskGroup,
) -> "McpSessionBinder":
    from acp_server.mcp.binder import McpSessionBinder

    return McpSessionBinder(loader, config, session, elicitor, tasks)


def _import_connector(tasks: TaskGroup, config: McpConfig) -> "McpConnector":
    from acp_server.mcp.sdk_connector import SdkConnector
    from acp_server.mcp.server_process import ProcessContext
    from acp_server.tools.shell.watcher import ProcessWatcher

    environment = config.environment
    return SdkConnector(
        ProcessContext(ProcessWatcher(tasks, environment), environment, config.secret_names)
    )
