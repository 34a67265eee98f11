"""Packages that are entered part by part offer the same as when they are imported whole."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from acp_server.startup.lazy_import import make_lazy
from tests.config.written_packages import imported_modules, temporary_package

NAME = "package_of_parts"
FILES = {
    "__init__.py": (
        "from .light import wanted, other as renamed\nfrom .heavy import unwanted\nmade_here = 7\n"
    ),
    "light.py": "wanted, other = 1, 2\n",
    "heavy.py": "unwanted = 3\n",
    "inner/__init__.py": "from ..light import wanted\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Iterator[str]:
    with temporary_package(NAME, FILES, tmp_path) as name:
        yield name


def test_only_modules_of_accessed_names_are_imported(package: str) -> None:
    make_lazy([package, f"{package}.inner"])
    entered = import_module(package)
    assert (entered.wanted, entered.renamed, entered.inner.wanted) == (1, 2, 1)
    assert imported_modules(NAME) == {package, f"{package}.inner", f"{package}.light"}


def test_accessing_an_unknown_name_imports_the_whole_package(package: str) -> None:
    make_lazy([package])
    entered = import_module(package)
    assert entered.made_here == 7
    assert imported_modules(NAME) == {package, f"{package}.light", f"{package}.heavy"}
    assert (entered.wanted, entered.unwanted) == (1, 3)


def test_submodules_are_found_and_missing_names_raise_attribute_error(package: str) -> None:
    make_lazy([package])
    entered = import_module(package)
    assert entered.light.other == 2
    assert not hasattr(entered, "__wrapped__")
    assert imported_modules(NAME) == {package, f"{package}.light"}
    with pytest.raises(AttributeError, match="nowhere"):
        _ = entered.nowhere


def test_already_imported_and_missing_packages_are_skipped(package: str) -> None:
    module = import_module(package)
    make_lazy([package, f"{package}.absent", "absent_package", "absent_package.part"])
    assert import_module(package) is module
