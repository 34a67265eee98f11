"""Disables pydantic's plug-ins, for speed and for privacy.

Before it builds its first model, pydantic searches all installed packages for plug-ins. That takes
longer than building the models of a first session, and a plug-in would see every message and every
API key in the settings. The fast way replaces the module that searches, which would itself import
slowly; the plain way is the variable that pydantic documents.
"""

import os
import sys
from collections.abc import Sequence
from types import ModuleType

from acp_server.startup.fallback import FastWayError, fast_or_plain

PLUGIN_LOADER_MODULE = "pydantic.plugin._loader"
"""The module that pydantic imports to find plug-ins when it builds a model."""
VARIABLE = "PYDANTIC_DISABLE_PLUGINS"

replaced_variables: dict[str, str | None] = {}
"""Variables that were changed in this process, with their values before, for child processes."""


def disable_plugins() -> None:
    """Have pydantic find no plug-ins; it must not have built a model before."""
    fast_or_plain(
        "pydantic without plug-ins", _replace_loader, _set_variable, packages=("pydantic.plugin",)
    )


def _replace_loader() -> None:
    """Replace the loader of plug-ins, and build a validator to see that it is the one asked."""
    from pydantic import TypeAdapter

    was_asked = False

    def find_no_plugins() -> Sequence[object]:
        nonlocal was_asked
        was_asked = True
        return ()

    loader = ModuleType(PLUGIN_LOADER_MODULE)
    loader.__dict__["get_plugins"] = find_no_plugins
    sys.modules[PLUGIN_LOADER_MODULE] = loader
    TypeAdapter(int)
    if not was_asked:
        raise FastWayError(f"pydantic does not ask {PLUGIN_LOADER_MODULE} for plug-ins")


def _set_variable() -> None:
    replaced_variables[VARIABLE] = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "__all__"
