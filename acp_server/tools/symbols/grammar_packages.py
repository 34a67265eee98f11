"""The packages of grammars, and whether any is installed."""

from functools import cache

from acp_server.startup.installed_packages import is_package_installed

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
