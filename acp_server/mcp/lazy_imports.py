"""Deferred imports of the MCP client: this package for a session, the SDK for a server.

Importing the SDK takes over a second, so it is not imported before a session has a server.
"""

from typing import TYPE_CHECKING

from anyio.abc import TaskGroup

from acp_server.mcp.config import McpConfig

if TYPE_CHECKING:
    from acp_server.mcp.binder import McpSessionBinder
    from acp_server.mcp.ports import McpConnector


def import_binder() -> "type[McpSessionBinder]":
    """Return the class that binds servers to a session; blocks for the import."""
    from acp_server.mcp.binder import McpSessionBinder

    return McpSessionBinder


def create_connector(tasks: TaskGroup, config: McpConfig) -> "McpConnector":
    """Return a new connector; blocks for the import of the SDK.

    The task group `tasks` runs the process watcher and must outlive every session.
    """
    from acp_server.mcp.sdk_connector import SdkConnector
    from acp_server.mcp.server_process import ProcessContext
    from acp_server.tools.shell.watcher import ProcessWatcher

    environment = config.environment
    return SdkConnector(
        ProcessContext(ProcessWatcher(tasks, environment), environment, config.secret_names),
        config.home,
    )
