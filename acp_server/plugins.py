"""Pydantic without plug-ins: no package that is installed beside us reads along.

Before it builds its first model, pydantic looks through all installed packages for plug-ins of its
own. That takes longer than building the models that a first session needs, and a plug-in would see
every message, and every key of the settings. Here it finds that there are none. Knows no models.
"""

import sys
from collections.abc import Sequence
from types import ModuleType

LOADER = "pydantic.plugin._loader"
"""Where pydantic looks for plug-ins: it imports this when it builds a model."""


def leave_plugins_out() -> None:
    """Have pydantic find no plug-ins; too late once it has built a model."""
    loader = ModuleType(LOADER)
    loader.__dict__["get_plugins"] = _no_plugins
    sys.modules.setdefault(LOADER, loader)


def _no_plugins() -> Sequence[object]:
    return ()
