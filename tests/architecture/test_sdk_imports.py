"""One package imports the SDK, under the lock of `acp_server.models.anthropic.packages`."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
SDK_USERS = ROOT / "acp_server" / "models" / "anthropic"
ENTRANCE = "acp_server.models.anthropic.packages"
ENTERED_BY = "acp_server/models/lazy_imports.py"


def imported_modules(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def modules_that_import(package: str, folder: str) -> set[Path]:
    return {
        path
        for path in (ROOT / folder).rglob("*.py")
        if any(f"{name}.".startswith(f"{package}.") for name in imported_modules(path))
    }


def test_one_package_imports_the_sdk() -> None:
    users = {
        path
        for folder in ("acp_server", "prompt_engine", "skills_store")
        for path in modules_that_import("anthropic", folder)
    }
    assert users
    assert {path.parent for path in users} == {SDK_USERS}


def test_that_package_is_entered_through_its_lock() -> None:
    entries = {
        (path.relative_to(ROOT).as_posix(), name)
        for path in modules_that_import("acp_server.models.anthropic", "acp_server")
        if path.parent != SDK_USERS
        for name in imported_modules(path)
        if name.startswith("acp_server.models.anthropic")
    }
    assert entries == {(ENTERED_BY, ENTRANCE)}
