"""The names of all tools. Values only: cheap to import."""

from acp_server.memory.config import MemoryConfig
from acp_server.tools.tool_settings import ToolsetConfig

MEMORY_TOOL = "memory"
SYMBOLS_TOOL = "symbols"
TERMINAL_TOOL = "terminal"
SEARCH_TOOL = "session_search"
DELEGATION_TOOL = "delegate_task"
TOOL_NAMES = (
    "read_file",
    "search_files",
    SYMBOLS_TOOL,
    "write_file",
    "patch",
    TERMINAL_TOOL,
    "process",
    "web_fetch",
    "todo",
    "clarify",
    "exit_plan",
    MEMORY_TOOL,
    SEARCH_TOOL,
    "skills_list",
    "skill_view",
    "skill_manage",
    DELEGATION_TOOL,
)
"""The names of all tools, in the order in which they are sent to the model.

Providers cache the tool list as part of the prompt prefix, so the order must not change.
"""


def offered_tool_names(memory_config: MemoryConfig, toolsets: ToolsetConfig) -> tuple[str, ...]:
    """Return the names of the tools that a session has, before its project restricts them."""
    return tuple(
        name
        for name in TOOL_NAMES
        if toolsets.offers(name) and (memory_config.limits or name != MEMORY_TOOL)
    )
