"""Configuration of the MCP client."""

from collections.abc import Collection, Mapping
from dataclasses import field
from pathlib import Path

from acp_server.config.values import McpServerSetting
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class McpConfig:
    """MCP configuration shared by all sessions."""

    environment: Mapping[str, str]
    """The environment of this process; servers inherit a few safe variables."""
    secret_names: Collection[str]
    """The names of variables with secrets, which no server inherits."""
    home: Path
    """The directory that sign-ins are stored in."""
    configured: Mapping[str, McpServerSetting] = field(default_factory=dict[str, McpServerSetting])
    """The servers of the settings, by name."""
    first_call_seconds: float = 3.0
    """How long the first model request waits for connecting servers."""
    is_unattended: bool = False
    """Whether no user watches, so that what a run has to do without must be reported."""
