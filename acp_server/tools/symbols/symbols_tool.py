"""The tool `symbols`: its schema. What its calls need is imported at the first one."""

from functools import partial

from acp_server.tools.symbols.call_arguments import SymbolArguments, SymbolServices
from acp_server.tools.symbols.lazy_imports import create_symbols_use
from acp_server.tools.tool import Tool, build_spec
from acp_server.tools.tool_names import SYMBOLS_TOOL

DESCRIPTION = (
    "Outline a code file, find where a symbol is defined or used, or preview a rename as a patch."
)


def symbols_tool(services: SymbolServices) -> Tool:
    """Return the tool for a session."""
    spec = build_spec(SYMBOLS_TOOL, DESCRIPTION, SymbolArguments)
    create_use = partial(create_symbols_use, services)
    return Tool(spec, "search", "Symbols", create_use, returns_data=True)
