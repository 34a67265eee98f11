"""The rule that every optimisation follows: try the fast way, else take the plain way.

    find = fast_or_plain("fast finding", find_fast, find_plainly, packages=("library",))

An optimisation relies on how a dependency is built, which any release may change. So its fast way
ends by using what it has made, and raises if that does not work. Then its imports are undone, the
plain way does the same with public names alone, and one warning is logged: slower, never broken.
`tests/startup/changed_dependencies.py` has the changes that were tried.
"""

import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")


class FastWayError(Exception):
    """The fast way ran but did not do what it should."""


def fast_or_plain(
    title: str, fast: Callable[[], T], plain: Callable[[], T], *, packages: Sequence[str] = ()
) -> T:
    """Return the result of `fast`; if it raises, undo its imports of `packages` and call `plain`.

    Not thread-safe for two callers with the same packages: one could undo the other's imports.
    """
    before = _imported_modules(packages)
    try:
        return fast()
    except Exception as error:
        _restore_modules(before, packages)
        reason = (str(error).splitlines() or [""])[0]
        failure = f"{type(error).__name__}: {reason}"
    # Outside the handler, so that a failure of the plain way is reported as its own, and alone.
    result = plain()
    logger.warning(
        "%s cannot be used with the installed packages; the slower way is used: %s", title, failure
    )
    return result


def _imported_modules(packages: Sequence[str]) -> dict[str, ModuleType]:
    submodules = tuple(f"{package}." for package in packages)
    return {
        name: sys.modules[name]
        for name in [*sys.modules]
        if name in packages or name.startswith(submodules)
    }


def _restore_modules(before: Mapping[str, ModuleType], packages: Sequence[str]) -> None:
    """Make these packages, and the attributes of their parents, what they were."""
    now = _imported_modules(packages)
    for name in now.keys() | before.keys():
        sys.modules.pop(name, None)
    sys.modules.update(before)
    for name in now.keys() | before.keys():
        parent, _, last = name.rpartition(".")
        if parent in sys.modules:
            attributes = sys.modules[parent].__dict__
            if name in before:
                attributes[last] = before[name]
            elif attributes.get(last) is now.get(name):
                attributes.pop(last, None)
