"""Server configurations of a session: from the editor's request, the settings and the workspace.

Reads no file and no environment. Settings and workspaces use the same schema.
"""

import hashlib
import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import assert_never

from pydantic import JsonValue, SecretStr, TypeAdapter, ValidationError

from acp_server.config.values import HttpServer, McpServer, SseServer, StdioServer
from acp_server.mcp.json_values import as_object, line_of, parts_of
from acp_server.session.ports.mcp_configs import (
    Patience,
    ProcessServer,
    RemoteServer,
    ServerConfig,
)

IDENTITY_CHARACTERS = 16
MOST_COMMAND_CHARACTERS = 300
NO_ENTRIES = "the workspace's mcp_servers are invalid: they must map server names to entries"


def configured(servers: Mapping[str, McpServer]) -> tuple[ServerConfig, ...]:
    """Return the enabled servers of the settings."""
    return tuple(_config(name, entry) for name, entry in servers.items() if entry.enabled)


def brought(entries: JsonValue) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """Return the enabled servers of a workspace, and a message for each invalid entry."""
    servers, problems = servers_in(entries)
    return configured(servers), problems


def servers_in(entries: JsonValue) -> tuple[Mapping[str, McpServer], tuple[str, ...]]:
    """Parse a workspace's entries; return them by name, and a message for each invalid entry."""
    if entries is None:
        return {}, ()
    if not isinstance(entries, dict):
        return {}, (NO_ENTRIES,)
    reader: TypeAdapter[McpServer] = TypeAdapter(McpServer)
    servers: dict[str, McpServer] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        try:
            servers[name] = reader.validate_python(as_object(entry))
        except ValidationError as error:
            problems.append(f"the workspace's MCP server {line_of(name, 100)}: {_problem(error)}")
    return servers, tuple(problems)


def _problem(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    return f"{first['loc'][-1] if first['loc'] else 'the entry'}: {first['msg']}"


def _config(name: str, entry: McpServer) -> ServerConfig:
    patience = Patience(entry.connect_timeout, entry.timeout)
    match entry:
        case StdioServer():
            environment = _revealed(entry.env)
            return ProcessServer(name, entry.command, entry.args, environment, entry.cwd, patience)
        case HttpServer() | SseServer():
            return RemoteServer(name, entry.url, _revealed(entry.headers), entry.type, patience)
        case _:
            assert_never(entry)


def _revealed(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in secrets.items()}


def joined(
    requested: Sequence[ServerConfig], configured: Sequence[ServerConfig]
) -> tuple[ServerConfig, ...]:
    """Return the servers of a session, one per name; the request's override the settings'."""
    # Reversed, so that the first server of a name wins; reversed back to keep the order.
    by_name = {server.name: server for server in reversed([*requested, *configured])}
    return tuple(reversed(by_name.values()))


def identity_of(server: ServerConfig) -> str:
    """Return a digest of a server's program or address; environment and headers do not count.

    Permission rules use it: a grant does not carry over to another program of the same name.
    """
    match server:
        case ProcessServer():
            facts = ["process", server.command, *server.args, str(server.cwd or "")]
        case RemoteServer():
            facts = ["remote", server.transport, server.url]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return digest[:IDENTITY_CHARACTERS]


def described(server: ServerConfig) -> str:
    """Describe how a server is reached, without secrets."""
    match server:
        case ProcessServer():
            return f"process `{Path(server.command).name}`"
        case RemoteServer():
            parts = parts_of(server.url)
            # No path, query or user info: they can contain tokens.
            return f"{server.transport} `{parts.scheme}://{parts.hostname or ''}`"


def spelled_out(server: ServerConfig) -> str:
    """Describe a workspace's server in full, for the user's decision to trust the workspace."""
    match server:
        case ProcessServer():
            what = f"runs {shlex.join([server.command, *server.args])}"
        case RemoteServer():
            what = f"connects to {server.url}"
    return line_of(f"{server.name} ({what})", MOST_COMMAND_CHARACTERS)
