"""How far commands in the sandbox reach into the network."""

from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass

NetworkAccess = Literal["off", "hosts", "on"]


@frozen_dataclass
class NetworkLevel:
    """One level, as pickers show it."""

    id: NetworkAccess
    name: str
    description: str


NETWORK_LEVELS = (
    NetworkLevel("off", "Off", "Commands have no network but one of their own"),
    NetworkLevel("hosts", "Allowed hosts", "Asks about each host that a command connects to"),
    NetworkLevel("on", "On", "Commands use the whole network"),
)
