"""Permission modes: how much the agent may do without asking. Editors store the mode ids."""

from typing import Literal, TypeGuard

from acp_server.startup.fast_dataclass import frozen_dataclass

Mode = Literal["ask", "accept_edits", "plan", "bypass"]


@frozen_dataclass
class ModeInfo:
    """Name and description of a mode for a picker."""

    id: Mode
    name: str
    description: str


MODES = (
    ModeInfo("ask", "Ask", "Asks before every edit and command"),
    ModeInfo(
        "accept_edits", "Accept edits", "Edits workspace files without asking; asks for the rest"
    ),
    ModeInfo("plan", "Plan", "Reads and plans; writes nothing and runs nothing"),
    ModeInfo("bypass", "Bypass", "Never asks; only a short list of commands stays blocked"),
)
MODE_IDS = ", ".join(mode.id for mode in MODES)


def is_mode(value: object) -> TypeGuard[Mode]:
    """Return whether this is the id of a mode."""
    return any(mode.id == value for mode in MODES)
