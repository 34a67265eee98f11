"""How far commands in the sandbox reach into the network, and who reaches them."""

from collections.abc import Sequence
from typing import Generic, Literal, TypeVar

from acp_server.startup.fast_dataclass import frozen_dataclass

NetworkAccess = Literal["off", "hosts", "on"]
PortAccess = Literal["off", "ask", "on"]
LevelId = TypeVar("LevelId", bound=str)


@frozen_dataclass
class AccessLevel(Generic[LevelId]):
    """One level of access, as pickers show it."""

    id: LevelId
    name: str
    description: str


NETWORK_LEVELS: tuple[AccessLevel[NetworkAccess], ...] = (
    AccessLevel("off", "Off", "Commands have no network but one of their own"),
    AccessLevel("hosts", "Allowed hosts", "Asks about each host that a command connects to"),
    AccessLevel("on", "On", "Commands use the whole network"),
)
PORT_LEVELS: tuple[AccessLevel[PortAccess], ...] = (
    AccessLevel("off", "Off", "Only commands of the session reach them"),
    AccessLevel("ask", "Ask", "Asks before this machine can connect to a port"),
    AccessLevel("on", "On", "The agent may let this machine connect to any port of theirs"),
)


def select_level(
    levels: Sequence[AccessLevel[LevelId]], chosen: str | None, default: LevelId | None
) -> LevelId | None:
    """Return the chosen level, or the default if there is no such level; None without a default."""
    if default is None:
        return None
    return next((each.id for each in levels if each.id == chosen), default)
