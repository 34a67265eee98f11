"""Maps the MCP servers of a request to server configs."""

from collections.abc import Sequence
from typing import assert_never

from acp_server.protocol.sessions import (
    McpServerAcp,
    McpServerHttp,
    McpServerSse,
    McpServerStdio,
    RequestedMcpServer,
)
from acp_server.session.ports.mcp_configs import (
    ClientServerConfig,
    HttpServerConfig,
    ServerConfig,
    StdioServerConfig,
)


def to_server_configs(
    servers: Sequence[RequestedMcpServer], client: str
) -> tuple[ServerConfig, ...]:
    """Return the configs of a request's servers; of two with the same name, the first.

    `client` is the name of the client that made the request.
    """
    found: dict[str, ServerConfig] = {}
    for server in servers:
        found.setdefault(server.name, _to_server_config(server, client))
    return tuple(found.values())


def _to_server_config(server: RequestedMcpServer, client: str) -> ServerConfig:
    match server:
        case McpServerStdio():
            environment = {each.name: each.value for each in server.env}
            return StdioServerConfig(server.name, server.command, tuple(server.args), environment)
        case McpServerHttp() | McpServerSse():
            headers = {each.name: each.value for each in server.headers}
            return HttpServerConfig(server.name, server.url, headers, server.type)
        case McpServerAcp():
            return ClientServerConfig(server.name, server.server_id, client)
        case _:
            assert_never(server)
