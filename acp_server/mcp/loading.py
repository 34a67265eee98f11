"""Imports what a session with servers needs, in a thread: this room, and the SDK when one starts.

The SDK takes over a second. Nothing of it is there before a session has a server.
"""

from collections.abc import Collection, Mapping
from dataclasses import field
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.configuration.values import McpServer
from acp_server.frozen import frozen

if TYPE_CHECKING:
    from acp_server.mcp.joining import Joint
    from acp_server.mcp.ports import Sdk
    from acp_server.session.elicitation import Elicitor
    from acp_server.session.session import Session


@frozen
class McpPremises:
    """What the servers of all sessions have in common."""

    environment: Mapping[str, str]
    """Our variables; servers see a safe few of them."""
    secret_names: Collection[str]
    """The variables that no server sees."""
    configured: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer])
    """The servers of the settings, by name."""
    first_call_seconds: float = 3.0
    """How long the first call of the model waits for servers that still connect."""


class McpLoader:
    """The SDK, from the first time that somebody asks for it."""

    def __init__(self, premises: McpPremises) -> None:
        self._premises = premises
        self._lock = anyio.Lock()
        self._sdk: Sdk | None = None

    async def load(self, tasks: TaskGroup) -> "Sdk":
        """Return the SDK; the first call imports it, later ones wait for that.

        In `tasks` runs what keeps the record of processes true; it outlives every session.
        """
        async with self._lock:
            if self._sdk is None:
                self._sdk = await to_thread.run_sync(_import, tasks, self._premises)
        return self._sdk

    async def joint(self, session: "Session", elicitor: "Elicitor", tasks: TaskGroup) -> "Joint":
        """Return what joins a session's servers to it; they live in `tasks`."""
        return await to_thread.run_sync(_joint, self, self._premises, session, elicitor, tasks)

    async def close(self) -> None:
        """End what the sessions shared, once all are closed."""
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
    from acp_server.mcp.joining import Joint

    return Joint(loader, premises, session, elicitor, tasks)


def _import(tasks: TaskGroup, premises: McpPremises) -> "Sdk":
    from acp_server.mcp.processes import Ground
    from acp_server.mcp.sdk import McpSdk
    from acp_server.tools.shell.watcher import Watcher

    environment = premises.environment
    return McpSdk(Ground(Watcher(tasks, environment), environment, premises.secret_names))
