"""Deferred import of the tools, which takes a while: what a first request needs, then the rest."""

from typing import TYPE_CHECKING

from acp_server.startup.gc_pause import pause_gc_on_first_call
from acp_server.tools.tool_config import ToolConfig

if TYPE_CHECKING:
    from acp_server.tools.deferred_toolset import DeferredToolsets
    from acp_server.tools.factory import ToolFactory
    from acp_server.tools.session_parts import SharedParts


@pause_gc_on_first_call
def create_deferred_toolsets(config: ToolConfig) -> "DeferredToolsets":
    """Return the creator of toolsets whose tools are imported later; blocks for its import."""
    from acp_server.tools.deferred_toolset import DeferredToolsets

    return DeferredToolsets(config)


@pause_gc_on_first_call
def create_tool_factory(config: ToolConfig, shared: "SharedParts") -> "ToolFactory":
    """Return a new tool factory; blocks for the import."""
    from acp_server.tools.factory import ToolFactory

    return ToolFactory(config, shared)
