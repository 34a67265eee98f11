"""Versions of packages without `importlib.metadata`, which takes 10 ms to import.

HTTP clients ask for their own version as they are imported. The name of the directory with a
package's metadata has it, too.
"""

import importlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from threading import RLock
from types import ModuleType

_NAME = "importlib.metadata"
_lock = RLock()


@contextmanager
def quick_versions() -> Generator[None]:
    """Let imports in this context find a version without the real module.

    Every other name of it, and a version that is not found so, imports the real one, which then
    takes its place. Any thread may import it meanwhile.
    """
    with _lock:
        if _NAME in sys.modules:
            stand_in = None
        else:
            stand_in = sys.modules[_NAME] = _make_stand_in()
    try:
        yield
    finally:
        if stand_in is not None:
            _remove(stand_in)


def _make_stand_in() -> ModuleType:
    module = ModuleType(_NAME)

    def look_up(name: str) -> object:
        return getattr(_real(module), name)

    def version(distribution_name: str) -> str:
        found = _find_version(distribution_name)
        if found is None:
            found = str(_real(module).version(distribution_name))
        return found

    # Asked for by each `from`; without it, no submodule could be imported meanwhile.
    places = [os.path.join(each, "metadata") for each in importlib.__path__]
    vars(module).update(__getattr__=look_up, __path__=places, version=version)
    return module


def _real(stand_in: ModuleType) -> ModuleType:
    _remove(stand_in)
    return import_module(_NAME)


def _remove(stand_in: ModuleType) -> None:
    with _lock:
        if sys.modules.get(_NAME) is stand_in:
            del sys.modules[_NAME]


def _find_version(package: str) -> str | None:
    """Return the version of a package, if the first place with its metadata leaves no doubt."""
    start, end = f"{package}-", ".dist-info"
    for place in sys.path:
        try:
            entries = os.listdir(place or ".")
        except OSError:
            continue
        found = [each for each in entries if each.startswith(start) and each.endswith(end)]
        if found:
            return found[0].removeprefix(start).removesuffix(end) if len(found) == 1 else None
    return None
