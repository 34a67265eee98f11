"""Lazy packages: imports a package without running its `__init__`, which imports too much.

The names that the package exports are read from the source of its `__init__`. Accessing one
imports only the module that defines it. Accessing any other name runs the real `__init__` after
all, so the package behaves as usual, only slower. Imports nothing from this project.
"""

import ast
import sys
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import find_spec, module_from_spec, resolve_name
from types import ModuleType
from typing import cast

from acp_server.startup.fallback import fast_or_plain

PackageExports = Mapping[str, tuple[str, str]]
"""Maps each exported name to the module that defines it and its name there."""


def make_lazy(names: Iterable[str]) -> None:
    """Make packages lazy; list parents first. Packages already imported are not changed."""
    for name in names:
        spec = None if name in sys.modules else _find_spec_or_none(name)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            sys.modules[name] = package = _make_lazy_package(spec, spec.loader)
            parent, _, last = name.rpartition(".")
            if parent:
                setattr(sys.modules[parent], last, package)


@contextmanager
def as_not_installed(name: str) -> Generator[None]:
    """Let imports of a module fail in this context, as if it were not there.

    For an optional part that is looked for and not used. One already imported stays.
    """
    if name in sys.modules:
        yield
        return
    modules = cast("dict[str, ModuleType | None]", sys.modules)
    modules[name] = None
    try:
        yield
    finally:
        modules.pop(name, None)


def _find_spec_or_none(name: str) -> ModuleSpec | None:
    """Return the spec of a package; None if it or its parent does not exist."""
    try:
        return find_spec(name)
    except ModuleNotFoundError:
        return None


def _make_lazy_package(spec: ModuleSpec, loader: SourceFileLoader) -> ModuleType:
    package = module_from_spec(spec)
    exports: PackageExports | None = None

    def look_up(name: str) -> object:
        nonlocal exports
        exports = _parse_exports(spec, loader) if exports is None else exports
        if name in exports:
            module, attribute = exports[name]
        elif name.startswith("__") and name != "__all__":
            raise AttributeError(name)
        elif find_spec(f"{spec.name}.{name}") is not None:
            module, attribute = f"{spec.name}.{name}", None
        else:  # a name that `__init__` computes
            return import_all(name)
        value = fast_or_plain(
            f"the lazy import of {spec.name}.{name}",
            partial(_import_name, module, attribute),
            partial(import_all, name),
        )
        package.__dict__[name] = value
        return value

    def import_all(name: str) -> object:
        # First remove the hook, which would recurse.
        package.__dict__.pop("__getattr__", None)
        loader.exec_module(package)
        return getattr(package, name)

    package.__dict__["__getattr__"] = look_up
    return package


def _import_name(module: str, attribute: str | None) -> object:
    """Import a module and return its attribute, or the module itself."""
    imported = import_module(module)
    return imported if attribute is None else getattr(imported, attribute)


def _parse_exports(spec: ModuleSpec, loader: SourceFileLoader) -> PackageExports:
    """Return the names that an `__init__` imports with `from .module import ...`."""
    found: dict[str, tuple[str, str]] = {}
    for statement in ast.parse(loader.get_source(spec.name) or "").body:
        if isinstance(statement, ast.ImportFrom) and statement.level and statement.module:
            module = resolve_name("." * statement.level + statement.module, spec.name)
            found |= {each.asname or each.name: (module, each.name) for each in statement.names}
    return found
