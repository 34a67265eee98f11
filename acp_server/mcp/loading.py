"""Imports the SDK, which takes over a second, in a thread, once, when a session has servers."""

from collections.abc import Collection, Mapping

import anyio
from anyio import to_thread
from anyio.abc import TaskGroup

from acp_server.mcp.ports import Sdk


class McpLoader:
    """The SDK, from the first time that somebody asks for it."""

    def __init__(self, environment: Mapping[str, str], secret_names: Collection[str]) -> None:
        """Prepare; servers see a safe few of our variables, and none of `secret_names`."""
        self._environment = environment
        self._secret_names = secret_names
        self._lock = anyio.Lock()
        self._sdk: Sdk | None = None

    async def load(self, tasks: TaskGroup) -> Sdk:
        """Return the SDK; the first call imports it, later ones wait for that.

        In `tasks` runs what keeps the record of processes true; it outlives every session.
        """
        async with self._lock:
            if self._sdk is None:
                self._sdk = await to_thread.run_sync(
                    _import, tasks, self._environment, self._secret_names
                )
        return self._sdk

    async def close(self) -> None:
        """End what the sessions shared, once all are closed."""
        sdk, self._sdk = self._sdk, None
        if sdk is not None:
            await sdk.close()


def _import(tasks: TaskGroup, environment: Mapping[str, str], secret_names: Collection[str]) -> Sdk:
    from acp_server.mcp.processes import Ground
    from acp_server.mcp.sdk import McpSdk
    from acp_server.tools.shell.watcher import Watcher

    return McpSdk(Ground(Watcher(tasks, environment), environment, secret_names))
