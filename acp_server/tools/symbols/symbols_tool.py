"""The tool `symbols`: its schema. What its calls need is imported at the first one."""

from functools import cache, partial

from acp_server.startup.installed_packages import is_package_installed
from acp_server.tools.symbols.call_arguments import SymbolArguments, SymbolServices
from acp_server.tools.symbols.lazy_imports import create_symbols_use
from acp_server.tools.tool import Tool, build_spec

SYMBOLS_TOOL = "symbols"
DESCRIPTION = (
    "Outline a code file, find where a symbol is defined or used, or preview a rename as a patch."
)
GRAMMAR_PACKAGES = (
    "tree_sitter_python",
    "tree_sitter_javascript",
    "tree_sitter_typescript",
    "tree_sitter_go",
    "tree_sitter_rust",
    "tree_sitter_java",
    "tree_sitter_c",
    "tree_sitter_cpp",
    "tree_sitter_c_sharp",
    "tree_sitter_ruby",
    "tree_sitter_php",
)
"""The packages of `languages.toml`, without the one of bash that commands need anyway."""


@cache
def has_grammars() -> bool:
    """Return whether any grammar is installed; imports none."""
    return any(map(is_package_installed, GRAMMAR_PACKAGES))


def symbols_tool(services: SymbolServices) -> Tool:
    """Return the tool for a session."""
    spec = build_spec(SYMBOLS_TOOL, DESCRIPTION, SymbolArguments)
    create_use = partial(create_symbols_use, services)
    return Tool(spec, "search", "Symbols", create_use, returns_data=True)
