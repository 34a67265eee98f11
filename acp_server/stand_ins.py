"""Packages that are written about but not used: their names are stood in for while others import.

A large package names hundreds of shapes in annotations, and imports a module for each. Within
`stood_in` whoever imports one of them gets a stand-in, and no module is imported. A stand-in
becomes what it stands for when it is called, subclassed, asked for an attribute or checked against.
Imports nothing of ours.
"""

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Union, cast


class StandIn:
    """What stands for a name of a module that was not imported."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def _real(self) -> object:
        real: object = getattr(import_module(self._module), self._name)
        if isinstance(real, StandIn):  # asked while it is still stood in for
            reason = f"{self._module}.{self._name} is used where it should only be named"
            raise ImportError(reason)
        return real

    def __call__(self, *arguments: object, **options: object) -> object:
        """Call what this stands for."""
        return cast("Callable[..., object]", self._real())(*arguments, **options)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what `typing` looks for in whatever it is given
            raise AttributeError(name)
        return getattr(self._real(), name)

    def __getitem__(self, item: object) -> object:
        return cast("dict[object, object]", self._real())[item]

    def __or__(self, other: object) -> object:
        return Union[self, other]  # noqa: UP007  `|` is what is being made here

    def __ror__(self, other: object) -> object:
        return Union[other, self]  # noqa: UP007

    def __mro_entries__(self, bases: object) -> tuple[object, ...]:
        del bases
        return (self._real(),)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, cast("type", self._real()))

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, cast("type", self._real()))


class _StandIns(MetaPathFinder, Loader):
    """Finds the modules of one package, each with nothing in it but stand-ins."""

    def __init__(self, package: str) -> None:
        self._package = package

    def covers(self, name: str) -> bool:
        """Whether a module is the package, or in it."""
        return name == self._package or name.startswith(f"{self._package}.")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of the package comes from: from here."""
        del path, target
        return ModuleSpec(fullname, self, is_package=True) if self.covers(fullname) else None

    def exec_module(self, module: ModuleType) -> None:
        """Fill a module: with a stand-in for whatever name it is asked for."""
        own = module.__name__

        def stand_in(name: str) -> StandIn:
            if name.startswith("__"):
                raise AttributeError(name)
            return StandIn(own, name)

        module.__dict__["__getattr__"] = stand_in


@contextmanager
def stood_in(package: str) -> Generator[None]:
    """Have all names of a package stood in for, for whoever imports them within; not thread-safe.

    Behind it the package is as it was: what is imported then gets the real names.
    """
    finder = _StandIns(package)
    before = _take_out(finder.covers)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        _take_out(finder.covers)
        sys.modules.update(before)
        _tell_parent(package)


def _take_out(covers: Callable[[str], bool]) -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in [*sys.modules] if covers(name)}


def _tell_parent(package: str) -> None:
    """Have the attribute of the parent say what is imported now."""
    parent, _, last = package.rpartition(".")
    if parent in sys.modules:
        attributes = sys.modules[parent].__dict__
        attributes.pop(last, None)
        if package in sys.modules:
            attributes[last] = sys.modules[package]
