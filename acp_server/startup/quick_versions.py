"""The version of a package without `importlib.metadata`, which takes 10 ms to import.

A package may have a module `__version__` that asks the metadata for its version. The name of the
directory with the metadata has it, too.
"""

import os
import sys
from types import ModuleType

from acp_server.startup.fallback import FastWayError


def provide_version(package: str, description: str) -> None:
    """Provide the module `PACKAGE.__version__` of a package that is not imported yet.

    It has the names that are usual in such a module. If the package uses another one, its import
    fails, and whoever imports it has to remove this module and to import it plainly.

    Raises:
        FastWayError: Its metadata is not in exactly one directory of the first place that has any.
    """
    name = f"{package}.__version__"
    if package in sys.modules or name in sys.modules:
        return
    module = ModuleType(name)
    names = {"__title__": package, "__description__": description, "__version__": _find(package)}
    vars(module).update(names)
    sys.modules[name] = module


def _find(package: str) -> str:
    """Return the version of an installed package."""
    start, end = f"{package}-", ".dist-info"
    for place in sys.path:
        try:
            entries = os.listdir(place or ".")
        except OSError:
            continue
        found = [each for each in entries if each.startswith(start) and each.endswith(end)]
        if len(found) == 1:
            return found[0].removeprefix(start).removesuffix(end)
        if found:
            break
    raise FastWayError(f"the version of {package} is not in the name of one directory")
