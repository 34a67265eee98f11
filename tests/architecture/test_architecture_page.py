"""ARCHITECTURE.md names only places that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
METHODS = {"session/cancel", "session/update"}
PATH = re.compile(r"`((?:[\w.]+/)+(?:[\w.]+)?)`")


def test_every_path_on_the_page_exists() -> None:
    named = sorted(name for name in set(PATH.findall(PAGE)) if name not in METHODS)
    bases = (ROOT, ROOT / "acp_server")
    assert [name for name in named if not any((base / name).exists() for base in bases)] == []


def test_every_package_is_on_the_code_map() -> None:
    packages = sorted(
        path.parent.relative_to(ROOT).as_posix()
        for path in (ROOT / "acp_server").glob("*/__init__.py")
    )
    assert [package for package in packages if f"`{package}/`" not in PAGE] == []


def test_every_invariant_names_its_guard() -> None:
    section = PAGE.partition("## Invariants")[2].partition("\n## ")[0]
    invariants = section.split("\n- ")[1:]
    assert [
        text for text in invariants if "`tests/" not in text and "lint-imports" not in text
    ] == []
