"""An MCP server in memory: one tool, whatever the test has it say of itself."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from pydantic import JsonValue

from acp_server.mcp.ports import Host, Json, Progress, Wire
from acp_server.session.server_configs import ServerConfig

PLAIN_TOOL: dict[str, JsonValue] = {"name": "tool", "inputSchema": {"type": "object"}}


@dataclass(slots=True)
class MemoryServer:
    """Connects to itself, and tells of the calls that reach it."""

    note: Callable[[Json], object]
    tool: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """What it says of its tool besides, or instead."""
    closed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def introduction(self) -> Json:
        return {"capabilities": {"tools": {}}}

    async def request(
        self, method: str, parameters: Json, progress: Progress | None = None
    ) -> Json:
        del progress
        if method == "tools/list":
            return {"tools": [PLAIN_TOOL | self.tool]}
        self.note(parameters)
        return {"content": [{"type": "text", "text": "done"}]}

    @asynccontextmanager
    async def connect(self, server: ServerConfig, host: Host) -> AsyncGenerator[Wire]:
        del server, host
        yield self

    async def load(self) -> "MemoryServer":
        """Return what connects to it."""
        return self

    async def close(self) -> None:
        return
