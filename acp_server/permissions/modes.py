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
    ModeInfo(
        "ask",
        "Ask before changes",
        "Reads freely; asks before edits, and before commands that could change something",
    ),
    ModeInfo(
        "accept_edits",
        "Accept edits",
        "Edits files in the workspace without asking; asks before the rest, such as commands",
    ),
    ModeInfo("plan", "Plan only", "Reads and makes a plan; edits nothing and runs nothing"),
    ModeInfo(
        "bypass",
        "Bypass permissions",
        "Never asks: edits and runs anything but a short list of dangerous commands",
    ),
)
MODE_IDS = ", ".join(mode.id for mode in MODES)


def is_mode(value: object) -> TypeGuard[Mode]:
    """Return whether this is the id of a mode."""
    return any(mode.id == value for mode in MODES)
