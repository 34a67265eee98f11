"""Names in documentation exist: exceptions in `Raises:` sections, and code in the pages."""

import ast
import builtins
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.source_tree import ROOT, source_files, source_paths

PAGES = (ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").glob("*.md")))
RAISED = re.compile(r"(\w[\w.]*(?:(?:, | or )\w[\w.]*)*):")
"""The start of an entry: one or more exceptions and a colon."""
DOTTED_PATH = re.compile(r"`((?:acp_server|prompt_engine|skills_store|tests)(?:\.\w+)+)`")
CAMEL_CASE = re.compile(r"`((?:[A-Z][a-z0-9]+){2,})(?:\.(\w+))?(?:\(\))?`")
FILE = re.compile(r"`((?:[\w.-]+/)*[\w.-]+\.(?:py|pl|sh|toml|mjs|tsx?))`")
OTHER_FILES = frozenset(
    [
        *("pyproject.toml", "sitecustomize.py", "usercustomize.py", "anthropic.py", "json.py"),
        *("requirements.toml", "mise.toml"),
    ]
)
"""Files of users and of other agents, and modules that a workspace could hide."""


@cache
def known_names() -> frozenset[str]:
    """Return all names that are built in, or defined or imported in the packages."""
    names = set(dir(builtins))
    for file in source_files():
        names |= file.stored_names
        names.update(node.name for node in file.definitions)
        for node in file.imports:
            names.update((each.asname or each.name).split(".")[0] for each in node.names)
    return frozenset(names)


def raised_names() -> Iterator[tuple[str, str]]:
    """Yield each exception in a `Raises:` section, after its place."""
    for file in source_files():
        for node in file.definitions:
            text = ast.get_docstring(node, clean=False) or ""
            if "Raises:" not in text:  # to clean all texts takes longer than the rest
                continue
            section = inspect.cleandoc(text).partition("\nRaises:\n")[2]
            for line in section.partition("\n\n")[0].splitlines():
                entry = RAISED.match(line.removeprefix("    "))
                for name in re.split(", | or ", entry[1]) if entry else ():
                    yield f"{file.name}:{node.lineno}", name


def test_every_documented_exception_exists() -> None:
    found = list(raised_names())
    assert found
    assert [each for each in found if each[1].partition(".")[0] not in known_names()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_name_on_a_page_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    unknown = [name for name in DOTTED_PATH.findall(text) if not _is_module_or_member(name)]
    for name, member in CAMEL_CASE.findall(text):
        if not {name, member or name} <= known_names():
            unknown.append(name)
    unknown += [name for name in FILE.findall(text) if not _is_file(name)]
    assert unknown == []


def _is_module_or_member(dotted: str) -> bool:
    path = ROOT.joinpath(*dotted.split("."))
    if path.is_dir() or path.with_suffix(".py").is_file():
        return True
    module = path.parent.with_suffix(".py")
    is_module = module.is_file() or path.parent.is_dir()
    return is_module and path.name in known_names()


def _is_file(name: str) -> bool:
    if name in OTHER_FILES:
        return True
    if "/" not in name:
        return any(path.name == name for path in source_paths())
    return any((base / name).is_file() for base in (ROOT, ROOT / "acp_server"))
