"""The end of a connection over HTTP, noticed by a request before the SDK's reader notices it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import mcp_types
import pytest
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.shared.message import SessionMessage

from acp_server.mcp import sdk_connector
from acp_server.session.ports.mcp_configs import HttpServerConfig
from tests.mcp.live_servers import open_factory
from tests.support.editor import Object
from tests.support.user_texts import CONNECTION_LOST

REMOTE = HttpServerConfig("remote", "http://127.0.0.1:9/mcp")
TOOL: Object = {"name": "echo", "inputSchema": {"type": "object"}}
RESULTS: dict[str, Object] = {
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "memory", "version": "1"},
    },
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "hello"}]},
}


@dataclass(slots=True)
class MemoryTransport:
    """Transport of a server in memory, whose outgoing half can break by itself."""

    requests: list[MemoryObjectReceiveStream[SessionMessage]]

    @asynccontextmanager
    async def connect(self, *_arguments: object) -> AsyncGenerator[tuple[object, object]]:
        """Serve one connection."""
        to_client, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](9)
        outgoing, from_client = anyio.create_memory_object_stream[SessionMessage](9)
        self.requests.append(from_client)

        async def serve() -> None:
            async for each in from_client:
                message = each.message
                if isinstance(message, mcp_types.JSONRPCRequest):
                    result = RESULTS[message.method]
                    answer = mcp_types.JSONRPCResponse(
                        jsonrpc="2.0", id=message.id, result={**result}
                    )
                    await to_client.send(SessionMessage(answer))

        async with to_client, from_client, anyio.create_task_group() as tasks:
            tasks.start_soon(serve)
            yield incoming, outgoing
            tasks.cancel_scope.cancel()


async def test_a_call_after_one_that_found_the_transport_closed_waits_for_the_reconnection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    transport = MemoryTransport([])
    monkeypatch.setattr(sdk_connector, "remote_streams", transport.connect)
    async with open_factory(tmp_path) as factory, factory.open_servers(REMOTE) as live:
        assert (await live.call("remote__echo")).text == "hello"
        transport.requests[0].close()  # nothing tells the reader
        lost = await live.call("remote__echo")
        again = await live.call("remote__echo")
        assert lost.text == f"MCP server remote: {CONNECTION_LOST}"
        assert (again.text, len(transport.requests)) == ("hello", 2)
