"""No module imports itself through others, counting type-only and late imports."""

import ast

from tests.architecture.source_tree import source_files


def imports() -> dict[str, set[str]]:
    """Return the modules of our own that each module imports anywhere in its text."""
    files = {file.module: file for file in source_files()}
    found: dict[str, set[str]] = {}
    for module, file in files.items():
        names: set[str] = set()
        for node in file.imports:
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif node.module:
                names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        # A package's `__init__` does not count for a module that is imported from inside it.
        found[module] = {
            name for name in names & files.keys() - {module} if not module.startswith(f"{name}.")
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
