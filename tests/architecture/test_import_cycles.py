"""No module imports itself through others, counting type-only and late imports."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("acp_server", "prompt_engine", "skills_store")


def imports() -> dict[str, set[str]]:
    """Return the modules of our own that each module imports anywhere in its text."""
    paths = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
    }
    found: dict[str, set[str]] = {}
    for module, path in paths.items():
        names: set[str] = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        # A package's `__init__` does not count for a module that is imported from inside it.
        found[module] = {
            name for name in names & paths.keys() - {module} if not module.startswith(f"{name}.")
        }
    return found


def test_no_module_imports_itself_through_others() -> None:
    graph = imports()
    assert len(graph) > 500
    # Modules whose imports are all resolved are removed until only cycles, and what needs them,
    # are left.
    while resolved := {name for name, needs in graph.items() if not needs & graph.keys()}:
        graph = {name: needs for name, needs in graph.items() if name not in resolved}
    assert graph == {}
