"""Engines by name: those of this package, and those that other packages register."""

from importlib.metadata import entry_points
from typing import cast

from acp_server.fleet.engines.local import open_local_engine
from acp_server.fleet.engines.seam import EngineError, EngineFactory

GROUP = "acp_server.engines"
LOCAL = "local"


def find_engine(name: str) -> EngineFactory:
    """Return the function that opens an engine; only the chosen one is imported.

    Raises:
        EngineError: There is no such engine, or it is not installed.
    """
    if name == LOCAL:
        return open_local_engine
    found = {each.name: each for each in entry_points(group=GROUP)}
    if name not in found:
        names = ", ".join(sorted({LOCAL, *found}))
        raise EngineError(f"there is no engine {name!r}; there are {names}")
    try:
        return cast("EngineFactory", found[name].load())
    except ImportError as error:
        raise EngineError(
            f"the engine {name!r} cannot be loaded ({error}); install what it needs, such as "
            f"'hermes-acp-server[{name}]'"
        ) from error
