"""Where the values of variables come from that skills declare. Values only: cheap to import."""

from collections.abc import Callable, Mapping
from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class SkillVariableStore:
    """The values of variables that skills may declare."""

    file: Path = Path(".env")
    """HERMES_HOME/.env, for messages."""
    read: Callable[[], Mapping[str, str]] = dict
    """Returns the variables of that file and of the environment, as they are now. Blocks."""
    write: Callable[[str, str], None] | None = None
    """Stores a variable in that file. Blocks; raises ValueError or OSError if it cannot."""
