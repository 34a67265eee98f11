"""MCP server configurations as plain data: a program to start, a URL, or a server of the client.

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
class FeatureFilter:
    """Which features of a server are used."""

    included_tools: tuple[str, ...] = ()
    """Their names on the server; empty for all. It takes precedence over the excluded ones."""
    excluded_tools: tuple[str, ...] = ()
    has_prompts: bool = True
    has_resources: bool = True

    def offers(self, tool: str) -> bool:
        """Return whether a tool of the server is used."""
        if self.included_tools:
            return tool in self.included_tools
        return tool not in self.excluded_tools


@frozen_dataclass
class SamplingConfig:
    """How often a server may ask the model, after the user has permitted it."""

    is_enabled: bool = True
    max_tokens: int = 4096
    """The longest answer."""
    max_per_minute: int = 10


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
    sampling: SamplingConfig = SamplingConfig()
    filter: FeatureFilter = FeatureFilter()


@frozen_dataclass
class SignInConfig:
    """How to sign in to a server with OAuth, if it wants that; empty values are negotiated."""

    is_expected: bool = False
    """Whether the user's settings say that the server wants a sign-in."""
    client_id: str = ""
    client_secret: str = field(default="", repr=False)
    issuer: str = ""
    """The sign-in server that the secret belongs to; empty for the one of the first sign-in."""
    client_name: str = ""
    scope: str = ""
    redirect_host: str = "127.0.0.1"
    """The name of this machine in the address that the sign-in page leads back to."""
    redirect_port: int = 0
    """0 for any free port."""
    page_seconds: float = 300.0
    """How long the user may take on the sign-in page."""


@frozen_dataclass
class HttpServerConfig:
    """A server reached over HTTP."""

    name: str
    # A URL may carry a token in its query.
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    transport: Transport = "http"
    timeouts: ServerTimeouts = ServerTimeouts()
    sampling: SamplingConfig = SamplingConfig()
    sign_in: SignInConfig | None = SignInConfig()
    """None if the settings say that no sign-in is wanted."""
    filter: FeatureFilter = FeatureFilter()

    @property
    def sign_in_config(self) -> SignInConfig | None:
        """How to sign in; None for a server whose headers do that already."""
        has_header = any(name.lower() == "authorization" for name in self.headers)
        return None if has_header else self.sign_in


@frozen_dataclass
class ClientServerConfig:
    """A server that the client provides over its own connection."""

    name: str
    server_id: str
    """The client's id for it, new for each connection."""
    client: str = ""
    """The client's name for itself."""
    timeouts: ServerTimeouts = ServerTimeouts()
    sampling: SamplingConfig = SamplingConfig()
    filter: FeatureFilter = FeatureFilter()


ServerConfig = StdioServerConfig | HttpServerConfig | ClientServerConfig
