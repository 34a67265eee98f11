"""What stands in for a name is that name for whoever uses it, and costs no import until then."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from acp_server.startup.type_stubs_import import placeholder_imports
from tests.config.written_packages import imported_modules, temporary_package

NAME = "package_with_shapes"
FILES = {
    "__init__.py": "",
    "user.py": (
        "from .shapes import Circle\n"
        "from .shapes.many import Square, Triangle\n"
        "Either, Listed = Circle | Square | None, list[Triangle]\n"
        "def area(shape: Circle): return shape.area\n"
        "TABLE = {'circle': Circle}\n"
    ),
    "shapes/__init__.py": "from .circle import Circle\n",
    "shapes/circle.py": (
        "class Circle:\n    sides = 0\n    def __init__(self, size): self.size = size\n"
    ),
    "shapes/many.py": "class Square: ...\nclass Triangle: ...\nSIZES = {'small': 1}\n",
    "hasty.py": "from .shapes import Circle\nunit = Circle(1)\n",
}


@pytest.fixture
def package(tmp_path: Path) -> Iterator[str]:
    with temporary_package(NAME, FILES, tmp_path) as name:
        yield name


def user_without_shapes(package: str) -> ModuleType:
    with placeholder_imports(f"{package}.shapes"):
        return import_module(f"{package}.user")


def test_a_module_used_only_in_annotations_is_not_imported(package: str) -> None:
    user_without_shapes(package)
    assert imported_modules(NAME) == {package, f"{package}.user"}
    assert not hasattr(sys.modules[package], "shapes")


def test_later_importers_get_the_real_names(package: str) -> None:
    user = user_without_shapes(package)
    shapes = import_module(f"{package}.shapes")
    assert shapes.Circle.__module__ == f"{package}.shapes.circle"
    assert sys.modules[package].shapes is shapes
    assert user.TABLE["circle"] is not shapes.Circle


def test_already_imported_modules_are_kept(package: str) -> None:
    shapes = import_module(f"{package}.shapes")
    user_without_shapes(package)
    assert sys.modules[package].shapes is sys.modules[f"{package}.shapes"] is shapes


def test_a_placeholder_resolves_to_the_real_object_when_used(package: str) -> None:
    circle = user_without_shapes(package).TABLE["circle"]
    real = import_module(f"{package}.shapes").Circle
    made = circle(3)
    assert (type(made), made.size, circle.sides) == (real, 3, 0)
    assert isinstance(made, circle)
    assert issubclass(real, (int, circle))
    assert not isinstance(3, circle)
    larger = type(real)("Larger", (real,), {})
    assert issubclass(larger, circle)


def test_a_placeholder_can_be_subclassed_and_indexed(package: str) -> None:
    user_without_shapes(package)
    with placeholder_imports(f"{package}.shapes"):
        many = import_module(f"{package}.shapes.many")
        square, sizes = many.Square, many.SIZES

    class Larger(square):
        """A subclass of what a stand-in stands for."""

    assert Larger.__mro__[1] is import_module(f"{package}.shapes.many").Square
    assert sizes["small"] == 1


def test_using_a_placeholder_too_early_raises_an_error_with_its_name(package: str) -> None:
    with (
        pytest.raises(ImportError, match=r"shapes\.Circle is used"),
        placeholder_imports(f"{package}.shapes"),
    ):
        import_module(f"{package}.hasty")
    assert import_module(f"{package}.hasty").unit.size == 1
