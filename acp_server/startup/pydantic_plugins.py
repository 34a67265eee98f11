"""Disables pydantic's plug-ins, for speed and for privacy.

Before it builds its first model, pydantic searches all installed packages for plug-ins. That takes
longer than building the models of a first session, and a plug-in would see every message and every
API key in the settings. The replaced loader finds none.
"""

import sys
from collections.abc import Sequence
from types import ModuleType

PLUGIN_LOADER_MODULE = "pydantic.plugin._loader"
"""The module that pydantic imports to find plug-ins when it builds a model."""


def disable_plugins() -> None:
    """Replace pydantic's plug-in loader; has no effect after the first model was built."""
    loader = ModuleType(PLUGIN_LOADER_MODULE)
    loader.__dict__["get_plugins"] = _no_plugins
    sys.modules.setdefault(PLUGIN_LOADER_MODULE, loader)


def _no_plugins() -> Sequence[object]:
    return ()
