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

from acp_server.config.values import (
    FeatureFilterSetting,
    HttpServer,
    McpServerSetting,
    OAuthSetting,
    SamplingSetting,
    SseServer,
    StdioServer,
)
from acp_server.mcp.texts import split_url
from acp_server.permissions.trust import ProjectUse
from acp_server.session.ports.mcp_configs import (
    ClientServerConfig,
    FeatureFilter,
    HttpServerConfig,
    SamplingConfig,
    ServerConfig,
    ServerTimeouts,
    SignInConfig,
    StdioServerConfig,
)
from acp_server.text.json_values import as_object
from acp_server.text.lines import to_single_line
from acp_server.text.validation_errors import validation_reason

IDENTITY_CHARACTERS = 16
MAX_COMMAND_CHARACTERS = 2_000
INVALID_ENTRIES = "the workspace's mcp_servers are invalid: they must map server names to entries"


def enabled_servers(servers: Mapping[str, McpServerSetting]) -> tuple[ServerConfig, ...]:
    """Return the enabled servers of the settings."""
    return tuple(_to_config(name, entry) for name, entry in servers.items() if entry.enabled)


def workspace_servers(entries: JsonValue) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """Return the enabled servers of a workspace, and a message for each invalid entry."""
    servers, problems = parse_workspace_servers(entries)
    return enabled_servers(servers), problems


def parse_workspace_servers(
    entries: JsonValue,
) -> tuple[Mapping[str, McpServerSetting], tuple[str, ...]]:
    """Parse a workspace's entries; return them by name, and a message for each invalid entry."""
    if entries is None:
        return {}, ()
    if not isinstance(entries, dict):
        return {}, (INVALID_ENTRIES,)
    reader: TypeAdapter[McpServerSetting] = TypeAdapter(McpServerSetting)
    servers: dict[str, McpServerSetting] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        try:
            servers[name] = reader.validate_python(as_object(entry))
        except ValidationError as error:
            problems.append(
                f"the workspace's MCP server {to_single_line(name, 100)}: {_error_text(error)}"
            )
    return servers, tuple(problems)


def _error_text(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{first['loc'][-1] if first['loc'] else 'the entry'}: {validation_reason(first)}"


def _to_config(name: str, entry: McpServerSetting) -> ServerConfig:
    timeouts = ServerTimeouts(entry.connect_timeout, entry.timeout)
    given = entry.sampling or SamplingSetting()
    sampling = SamplingConfig(given.enabled, given.max_tokens_cap, given.max_rpm)
    chosen = entry.tools or FeatureFilterSetting()
    features = FeatureFilter(chosen.include, chosen.exclude, chosen.prompts, chosen.resources)
    match entry:
        case StdioServer():
            environment = _reveal(entry.env)
            return StdioServerConfig(
                name,
                entry.command,
                entry.args,
                environment,
                entry.cwd,
                timeouts,
                sampling,
                features,
            )
        case HttpServer() | SseServer():
            headers, sign_in = _reveal(entry.headers), _sign_in_config(entry)
            return HttpServerConfig(
                name, entry.url, headers, entry.type, timeouts, sampling, sign_in, features
            )
        case _:
            assert_never(entry)


def _sign_in_config(entry: HttpServer | SseServer) -> SignInConfig | None:
    if entry.auth in {"header", "none"}:
        return None
    given = entry.oauth or OAuthSetting()
    return SignInConfig(
        is_expected=entry.auth == "oauth",
        client_id=given.client_id,
        client_secret=given.client_secret.get_secret_value() if given.client_secret else "",
        issuer=given.issuer,
        client_name=given.client_name,
        scope=given.scope,
        redirect_host=given.redirect_host,
        redirect_port=given.redirect_port,
        page_seconds=given.timeout,
    )


def _reveal(secrets: Mapping[str, SecretStr]) -> dict[str, str]:
    return {name: value.get_secret_value() for name, value in secrets.items()}


def merge_servers(
    requested: Sequence[ServerConfig], configured: Sequence[ServerConfig]
) -> tuple[ServerConfig, ...]:
    """Return the servers of a session, one per name; the request's override the settings'."""
    # Reversed, so that the first server of a name wins; reversed back to keep the order.
    by_name = {server.name: server for server in reversed([*requested, *configured])}
    return tuple(reversed(by_name.values()))


def server_identity(server: ServerConfig) -> str:
    """Return a digest of a server's program or address; environment and headers do not count.

    Permission rules use it: a grant does not carry over to another program of the same name.
    """
    match server:
        case StdioServerConfig():
            facts = ["process", server.command, *server.args, str(server.cwd or "")]
        case HttpServerConfig():
            facts = ["remote", server.transport, server.url]
        case ClientServerConfig():  # its id is another one in each connection
            facts = ["client", server.client, server.name]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return digest[:IDENTITY_CHARACTERS]


def describe_transport(server: ServerConfig) -> str:
    """Describe how a server is reached, without secrets."""
    match server:
        case StdioServerConfig():
            return f"process `{Path(server.command).name}`"
        case HttpServerConfig():
            parts = split_url(server.url)
            # No path, query or user info: they can contain tokens.
            return f"{server.transport} `{parts.scheme}://{parts.hostname or ''}`"
        case ClientServerConfig():
            return "provided by the editor"


def use_of(server: ServerConfig, entry: JsonValue, variables: Sequence[str] = ()) -> ProjectUse:
    """Return a workspace's server as the user decides on it: in full, and by digest.

    `entry` is its configuration as the file has it: whatever changes there is asked about again,
    but not the value of a variable, of which `variables` are the names.
    """
    match server:
        case StdioServerConfig():
            names, verb = sorted(server.environment), "sets"
        case HttpServerConfig():
            names, verb = sorted(server.headers), "sends"
        case ClientServerConfig():
            names, verb = [], ""
    sets = f", {verb} {', '.join(names)}" if names else ""
    receives = f", receives {', '.join(variables)}" if variables else ""
    phrase = to_single_line(f"{_describe_in_full(server)}{sets}{receives}", MAX_COMMAND_CHARACTERS)
    facts = json.dumps([server.name, entry], sort_keys=True).encode()
    return ProjectUse(f"the MCP server {phrase}", hashlib.sha256(facts).hexdigest())


def _describe_in_full(server: ServerConfig) -> str:
    """Describe what a server runs or connects to."""
    match server:
        case StdioServerConfig():
            action = f"runs {shlex.join([server.command, *server.args])}"
        case HttpServerConfig():
            action = f"connects to {server.url}"
        case ClientServerConfig():
            action = "is provided by the editor"
    return f"{server.name} ({action})"
