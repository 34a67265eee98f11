"""Settings of single tools. Values only: cheap to import."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field, PositiveFloat, PositiveInt

from acp_server.config.setting import setting
from acp_server.config.values import CommandWords, Names, PrivateHosts
from acp_server.startup.fast_dataclass import frozen_dataclass
from skills_store.visibility import TOOLSETS

MAX_DIAGNOSTICS_SECONDS = 2.0
DEFAULT_COMMAND_SECONDS = 180.0
MAX_COMMAND_SECONDS = 3_600.0
WHOLE_TOOLSETS = frozenset({"all", "*", "coding", "hermes-acp", "hermes-cli"})
"""Toolsets of Hermes that hold all tools of this server."""
COMPOSED_TOOLSETS = {"debugging": ("terminal", "web", "file"), "safe": ("web",)}
"""Toolsets of Hermes that consist of others."""
NO_MCP = "no_mcp"


@frozen_dataclass
class CheckConfig:
    """Configuration of the checks of changed files, used if the editor sends no diagnostics."""

    commands: Mapping[str, CommandWords] = setting(
        {},
        "Commands that check a changed file, by language; `{path}` is the file",
        "diagnostics.commands",
    )
    timeout_seconds: Annotated[float, Field(gt=0, le=MAX_DIAGNOSTICS_SECONDS)] = setting(
        MAX_DIAGNOSTICS_SECONDS, "How many seconds a check may take", "diagnostics.timeout_seconds"
    )


@frozen_dataclass
class WebConfig:
    """Configuration of `web_fetch`."""

    allowed_private_hosts: PrivateHosts = setting(
        (),
        "Private hosts, addresses or networks from which pages may be fetched",
        "web.allow_private",
    )
    timeout_seconds: PositiveFloat = setting(
        30.0, "How many seconds a fetch may take", "web.timeout_seconds"
    )
    max_bytes: PositiveInt = setting(5_000_000, "The maximum size of a page", "web.max_bytes")


@frozen_dataclass
class ToolsetConfig:
    """The tools that sessions have, by the toolsets of Hermes."""

    disabled: Names = setting(
        (),
        "Toolsets, or tools, that no session has: `terminal`, `web`, `memory`",
        "agent.disabled_toolsets",
    )
    enabled: Names | None = setting(
        None,
        "The toolsets that sessions have; `no_mcp` leaves MCP servers out",
        "platform_toolsets.acp",
    )

    def offers(self, tool: str) -> bool:
        """Return whether sessions have a tool; one that is in no toolset is always there."""
        if _names_tool(self.disabled, tool):
            return False
        is_in_a_toolset = any(tool in tools for tools in TOOLSETS.values())
        return self.enabled is None or not is_in_a_toolset or _names_tool(self.enabled, tool)

    @property
    def offers_mcp(self) -> bool:
        """Whether the tools of MCP servers are offered."""
        return NO_MCP not in (self.enabled or ())


def _names_tool(toolsets: tuple[str, ...], tool: str) -> bool:
    names = {tool, *WHOLE_TOOLSETS, *(each for each, tools in TOOLSETS.items() if tool in tools)}
    parts = (part for each in toolsets for part in (each, *COMPOSED_TOOLSETS.get(each, ())))
    return not names.isdisjoint(parts)


@frozen_dataclass
class TerminalConfig:
    """Configuration of commands."""

    timeout_seconds: Annotated[float, Field(gt=0, le=MAX_COMMAND_SECONDS)] = setting(
        DEFAULT_COMMAND_SECONDS,
        "How many seconds a command may take unless the model says otherwise",
        "terminal.timeout",
    )
    passed_variables: Names = setting(
        (),
        "Variables of HERMES_HOME/.env that commands get; keys of providers never",
        "terminal.env_passthrough",
    )
