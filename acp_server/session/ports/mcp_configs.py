"""MCP server configurations as plain data: a program to start, or a URL.

Independent of MCP. Environment variables and headers are secrets: no `repr` shows them and nothing
stores them.
"""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass

Transport = Literal["http", "sse"]


@frozen_dataclass
class ServerTimeouts:
    """Time limits for a server; None means no limit of its own."""

    connect_seconds: float | None = None
    """Until its `initialize` has completed."""
    call_seconds: float | None = None
    """Without a message from the server while a call runs."""


@frozen_dataclass
class StdioServerConfig:
    """A server started as a child process that speaks over stdin and stdout."""

    name: str
    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None
    """Working directory; None for the session's directory."""
    timeouts: ServerTimeouts = ServerTimeouts()


@frozen_dataclass
class HttpServerConfig:
    """A server reached over HTTP."""

    name: str
    # A URL may carry a token in its query.
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    transport: Transport = "http"
    timeouts: ServerTimeouts = ServerTimeouts()


ServerConfig = StdioServerConfig | HttpServerConfig
