"""Imports a package while replacing annotation-only types with lazy placeholders.

A large SDK mentions hundreds of types in annotations and imports a module for each. Within
`placeholder_imports`, importing such a type yields a placeholder and loads no module. The
placeholder resolves to the real type when it is called, subclassed, subscripted, asked for an
attribute or used in `isinstance`. Imports nothing from this project.
"""

import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Union, cast


class LazyPlaceholder:
    """Lazy placeholder for a name of a module that was not imported."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def _resolve(self) -> object:
        real: object = getattr(import_module(self._module), self._name)
        if isinstance(
            real, LazyPlaceholder
        ):  # still within `placeholder_imports`: the module is hidden
            reason = f"{self._module}.{self._name} is used at import time, not only in annotations"
            raise ImportError(reason)
        return real

    def __call__(self, *arguments: object, **options: object) -> object:
        """Call the real object."""
        return cast("Callable[..., object]", self._resolve())(*arguments, **options)

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # `typing` probes these; resolving would import the module
            raise AttributeError(name)
        return getattr(self._resolve(), name)

    def __getitem__(self, item: object) -> object:
        return cast("dict[object, object]", self._resolve())[item]

    def __or__(self, other: object) -> object:
        return Union[self, other]  # noqa: UP007  `|` is what is being made here

    def __ror__(self, other: object) -> object:
        return Union[other, self]  # noqa: UP007

    def __mro_entries__(self, bases: object) -> tuple[object, ...]:
        del bases
        return (self._resolve(),)

    def __instancecheck__(self, instance: object) -> bool:
        return isinstance(instance, cast("type", self._resolve()))

    def __subclasscheck__(self, subclass: type) -> bool:
        return issubclass(subclass, cast("type", self._resolve()))


class _PlaceholderFinder(MetaPathFinder, Loader):
    """Import hook that provides the modules of one package, filled with placeholders."""

    def __init__(self, package: str) -> None:
        self._package = package

    def covers(self, name: str) -> bool:
        """Return whether a module is the package or inside it."""
        return name == self._package or name.startswith(f"{self._package}.")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return a spec that loads a module of the package from this hook."""
        del path, target
        return ModuleSpec(fullname, self, is_package=True) if self.covers(fullname) else None

    def exec_module(self, module: ModuleType) -> None:
        """Make the module return a placeholder for every name."""
        module_name = module.__name__

        def make_placeholder(name: str) -> LazyPlaceholder:
            if name.startswith("__"):
                raise AttributeError(name)
            return LazyPlaceholder(module_name, name)

        module.__dict__["__getattr__"] = make_placeholder


@contextmanager
def placeholder_imports(package: str) -> Generator[None]:
    """Replace all names of a package by placeholders for imports within this context.

    On exit the package is restored: later imports get the real names.

    Thread safety: imports of other packages are not affected. No other thread may import this
    package within the context, or it would keep placeholders for its own use; the caller must see
    to that. A resolved placeholder keeps nothing, so any thread may use one.
    """
    finder = _PlaceholderFinder(package)
    before = _pop_modules(finder.covers)
    # New lists: while this one shrank, another thread's import that is going through it would skip
    # a finder, and not find its module.
    sys.meta_path = [finder, *sys.meta_path]
    try:
        yield
    finally:
        sys.meta_path = [each for each in sys.meta_path if each is not finder]
        _pop_modules(finder.covers)
        sys.modules.update(before)
        _restore_parent_attribute(package)


def _pop_modules(covers: Callable[[str], bool]) -> dict[str, ModuleType]:
    return {name: sys.modules.pop(name) for name in [*sys.modules] if covers(name)}


def _restore_parent_attribute(package: str) -> None:
    """Make the parent package's attribute match `sys.modules` again."""
    parent, _, last = package.rpartition(".")
    if parent in sys.modules:
        attributes = sys.modules[parent].__dict__
        attributes.pop(last, None)
        if package in sys.modules:
            attributes[last] = sys.modules[package]
