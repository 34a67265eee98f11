"""Deferred import of the tools, which takes a while: once, after the first session was answered."""

from typing import TYPE_CHECKING

from acp_server.startup.gc_pause import pause_gc_on_first_call
from acp_server.tools.tool_config import ToolConfig

if TYPE_CHECKING:
    from acp_server.tools.factory import ToolFactory


@pause_gc_on_first_call
def create_tool_factory(config: ToolConfig) -> "ToolFactory":
    """Return a new tool factory; blocks for the import."""
    from acp_server.tools.factory import ToolFactory

    return ToolFactory(config)
