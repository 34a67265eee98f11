"""What an ordinary session needs is imported without what only some clients need."""

import ast
from pathlib import Path

from tests.support.case_table import each_case

PROTOCOL = Path(__file__).parents[2] / "acp_server" / "protocol"
RARELY_NEEDED = {"calls", "elicitation", "files", "greeting", "terminals"}
ALWAYS_NEEDED = [
    "client",
    "content",
    "identifiers",
    "initialize_request",
    "model",
    "prompt_turn",
    "sessions",
    "tool_calls",
    "updates",
]


@each_case("module", ALWAYS_NEEDED)
def test_always_needed_modules_import_no_rarely_needed_module(module: str) -> None:
    tree = ast.parse((PROTOCOL / f"{module}.py").read_text(encoding="utf-8"))

    imported = {
        node.module.rpartition(".")[2]
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module is not None
    }

    assert imported & RARELY_NEEDED == set()
