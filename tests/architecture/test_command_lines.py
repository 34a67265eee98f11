"""Scripts of the tests read only options that they declare: argparse's results have no types."""

import ast
from pathlib import Path

from tests.support.case_table import each_case

ROOT = Path(__file__).parents[2]
SCRIPTS = [
    path
    for path in sorted((ROOT / "tests").rglob("*.py"))
    if ".add_argument(" in path.read_text(encoding="utf-8") and path != Path(__file__)
]
NAMESPACES = {"arguments", "options", "args"}


def declared(tree: ast.Module) -> set[str]:
    """Return the names that the script's options are stored under."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "add_argument":
            stored = [word.value for word in node.keywords if word.arg == "dest"]
            (name,) = stored or node.args[:1]
            assert isinstance(name, ast.Constant)
            names.add(str(name.value).lstrip("-").replace("-", "_"))
    return names


def read(tree: ast.Module) -> set[str]:
    """Return the attributes that are read from the parsed options."""
    return {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in NAMESPACES
    }


@each_case("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_a_script_reads_only_declared_options(script: Path) -> None:
    tree = ast.parse(script.read_text(encoding="utf-8"))
    assert read(tree) <= declared(tree)
