"""Which MCP servers there are to be, as data: a program to start, or an address.

Knows no MCP. Variables and headers are secrets: no `repr` shows them, and nothing keeps them.
"""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from acp_server.frozen import frozen

Transport = Literal["http", "sse"]


@frozen
class Patience:
    """How long a server may take; None: as long as any."""

    connect_seconds: float | None = None
    """Until it has introduced itself."""
    call_seconds: float | None = None
    """Without a word while a call runs."""


@frozen
class ProcessServer:
    """A server that is started as a child process and spoken to over its stdin and stdout."""

    name: str
    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None
    """Where it runs; None: the folder of the session."""
    patience: Patience = Patience()


@frozen
class RemoteServer:
    """A server that is reached over HTTP."""

    name: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    transport: Transport = "http"
    patience: Patience = Patience()


ServerConfig = ProcessServer | RemoteServer
