"""Which servers a session has: what the editor's request names, and what the settings name.

Reads no file and no environment. Variables and headers are secrets: no `repr` shows them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, JsonValue, ValidationError

Transport = Literal["http", "sse"]

IDENTITY_CHARACTERS = 16


@dataclass(frozen=True, slots=True)
class ProcessServer:
    """A server that is started as a child process and spoken to over its stdin and stdout."""

    name: str
    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None
    """Where it runs; None: the folder of the session."""


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """A server that is reached over HTTP."""

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    transport: Transport = "http"


ServerConfig = ProcessServer | RemoteServer


class _Process(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    command: str
    args: tuple[str, ...] = ()
    env: dict[str, str] = {}
    cwd: Path | None = None


class _Remote(BaseModel):
    model_config = ConfigDict(extra="ignore", hide_input_in_errors=True)

    type: Transport = "http"
    url: str
    headers: dict[str, str] = {}


def read_servers(
    mapping: Mapping[str, JsonValue],
) -> tuple[tuple[ServerConfig, ...], tuple[str, ...]]:
    """Return the servers that settings name, and a sentence for each entry that names none.

    An entry is `{command, args, env, cwd}` or `{type, url, headers}`; `type` is http or sse.
    """
    servers: list[ServerConfig] = []
    problems: list[str] = []
    for name, entry in mapping.items():
        try:
            servers.append(_server(name, entry))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            problems.append(f"MCP server {name}: {place or 'the entry'}: {first['msg']}")
    return tuple(servers), tuple(problems)


def _server(name: str, entry: JsonValue) -> ServerConfig:
    if isinstance(entry, dict) and "url" in entry:
        remote = _Remote.model_validate(entry)
        return RemoteServer(name, remote.url, remote.headers, remote.type)
    process = _Process.model_validate(entry)
    return ProcessServer(name, process.command, process.args, process.env, process.cwd)


def joined(
    requested: Sequence[ServerConfig], configured: Sequence[ServerConfig]
) -> tuple[ServerConfig, ...]:
    """Return the servers of a session, one for each name: the request's go before the settings'."""
    by_name = {server.name: server for server in reversed([*requested, *configured])}
    return tuple(reversed(by_name.values()))


def identity_of(server: ServerConfig) -> str:
    """Return a digest of which program or address a server is; secrets beside it do not count."""
    match server:
        case ProcessServer():
            facts = ["process", server.command, *server.args, str(server.cwd or "")]
        case RemoteServer():
            facts = ["remote", server.transport, server.url]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return digest[:IDENTITY_CHARACTERS]


def described(server: ServerConfig) -> str:
    """Return how a server is reached, in words that hold no secret."""
    match server:
        case ProcessServer():
            return f"process `{Path(server.command).name}`"
        case RemoteServer():
            parts = urlsplit(server.url)
            return f"{server.transport} `{parts.scheme}://{parts.hostname or ''}`"
