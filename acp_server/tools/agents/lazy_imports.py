"""Deferred import of what maps the tools of agents: only a description of them needs it."""

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acp_server.subagents.agent import ToolSelection


def describe_agent_tools(selection: "ToolSelection", available: Collection[str]) -> str:
    """Return the tools of an agent for the user; blocks for the import."""
    from acp_server.tools.agents.agent_tools import describe_tools, select_tools

    return describe_tools(select_tools(selection, available), available)
