"""Lazy imports of the MCP client, in a thread: this package for a session, the SDK for a server.

Importing the SDK takes over a second, so it is not imported before a session has a server.
"""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.config.values import McpServer
from acp_server.startup.fast_dataclass import frozen

if TYPE_CHECKING:
    from acp_server.mcp.binder import Joint
    from acp_server.mcp.ports import Sdk
    from acp_server.session.ports.elicitation import Elicitor
    from acp_server.session.session import Session


@frozen
class McpPremises:
    """MCP configuration shared by all sessions."""

    environment: Mapping[str, str]
    """The environment of this process; servers inherit a few safe variables."""
    secret_names: Collection[str]
    """The names of variables with secrets, which no server inherits."""
    configured: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer])
    """The servers of the settings, by name."""
    first_call_seconds: float = 3.0
    """How long the first model request waits for connecting servers."""


class McpLoader:
    """Loads the MCP client on first use; one instance for all sessions."""

    def __init__(self, premises: McpPremises) -> None:
        self._premises = premises
        self._lock = anyio.Lock()
        self._sdk: Sdk | None = None

    async def load(self, tasks: TaskGroup) -> "Sdk":
        """Return the connector; the first call imports the SDK, concurrent calls wait for that.

        The task group `tasks` runs the process watcher and must outlive every session.
        """
        async with self._lock:
            if self._sdk is None:
                self._sdk = await to_thread.run_sync(_import, tasks, self._premises)
        return self._sdk

    async def joint(self, session: "Session", elicitor: "Elicitor", tasks: TaskGroup) -> "Joint":
        """Return the binder of a session's servers; the servers run in the task group `tasks`."""
        return await to_thread.run_sync(_joint, self, self._premises, session, elicitor, tasks)

    async def close(self) -> None:
        """Close the shared resources; call it after all sessions are closed."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.close()


def _joint(
    loader: McpLoader,
    premises: McpPremises,
    session: "Session",
    elicitor: "Elicitor",
    tasks: TaskGroup,
) -> "Joint":
    from acp_server.mcp.binder import Joint

    return Joint(loader, premises, session, elicitor, tasks)


def _import(tasks: TaskGroup, premises: McpPremises) -> "Sdk":
    from acp_server.mcp.sdk_connector import McpSdk
    from acp_server.mcp.server_process import Ground
    from acp_server.tools.shell.watcher import Watcher

    environment = premises.environment
    return McpSdk(Ground(Watcher(tasks, environment), environment, premises.secret_names))
