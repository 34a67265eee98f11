"""The wheels of the libraries require what the code imports, and nothing else.

`.ci/libraries` builds them and tries them without the server.
"""

import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARIES = ("prompt_engine", "skills_store")
DYNAMIC = {"re2"}
"""Modules that are imported by name, because they have no types."""


def requirements(file: Path) -> dict[str, set[str]]:
    """Return the requirements of a project, by the name of the distribution."""
    found: dict[str, set[str]] = defaultdict(set)
    for each in tomllib.loads(file.read_text())["project"]["dependencies"]:
        found[re.split(r"[<>=\[;]", each)[0].strip()].add(each)
    return found


@cache
def distributions() -> Mapping[str, list[str]]:
    """Return the distributions of each top-level module that is installed."""
    return packages_distributions()


def imported_modules(package: Path) -> set[str]:
    """Return the top-level modules of others that a package imports, also by name."""
    found: set[str] = set()
    for file in package.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Import(names):
                    found |= {each.name.partition(".")[0] for each in names}
                case ast.ImportFrom(module=str(module), level=0):
                    found.add(module.partition(".")[0])
                case ast.Constant(str(value)) if value in DYNAMIC:
                    found.add(value)
                case _:
                    pass
    return found - sys.stdlib_module_names - {package.name}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_requires_what_it_imports(library: str) -> None:
    imported = {
        name.lower().replace("_", "-")
        for module in imported_modules(ROOT / library)
        for name in distributions()[module]
    }
    assert requirements(ROOT / "libraries" / library / "pyproject.toml").keys() == imported


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_requires_the_same_releases_as_the_server(library: str) -> None:
    whole = requirements(ROOT / "pyproject.toml")
    own = requirements(ROOT / "libraries" / library / "pyproject.toml")
    assert all(whole[name] in (set(), rows) for name, rows in own.items())
