"""In-memory MCP server with one tool, whose annotations the test chooses."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio
from pydantic import JsonValue

from acp_server.mcp.ports import (
    ClientCallbacks,
    Json,
    McpConnection,
    ProgressCallback,
)
from acp_server.session.ports.mcp_configs import ServerConfig

PLAIN_TOOL: dict[str, JsonValue] = {"name": "tool", "inputSchema": {"type": "object"}}


@dataclass(slots=True)
class MemoryServer:
    """Connector and connection in one; reports the calls that it receives."""

    on_call: Callable[[Json], object]
    tool: dict[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    """Fields that extend or override the plain tool's definition."""
    closed: anyio.Event = field(default_factory=anyio.Event)

    @property
    def initialize_result(self) -> Json:
        return {"capabilities": {"tools": {}}}

    async def request(
        self, method: str, parameters: Json, progress: ProgressCallback | None = None
    ) -> Json:
        del progress
        if method == "tools/list":
            return {"tools": [PLAIN_TOOL | self.tool]}
        self.on_call(parameters)
        return {"content": [{"type": "text", "text": "done"}]}

    @asynccontextmanager
    async def connect(
        self, server: ServerConfig, host: ClientCallbacks
    ) -> AsyncGenerator[McpConnection]:
        del server, host
        yield self

    def account(self, server: ServerConfig) -> None:
        del server

    async def load(self) -> "MemoryServer":
        """Return the connector."""
        return self

    async def close(self) -> None:
        return
