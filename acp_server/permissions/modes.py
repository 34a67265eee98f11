"""How much the agent may do unasked. The names are part of what editors store."""

from typing import Literal, TypeGuard

from acp_server.frozen import frozen

Mode = Literal["ask", "accept_edits", "plan", "bypass"]


@frozen
class ModeInfo:
    """A mode as a picker shows it."""

    id: Mode
    name: str
    description: str


MODES = (
    ModeInfo("ask", "Ask", "Asks before every edit and command"),
    ModeInfo(
        "accept_edits", "Accept edits", "Edits files in the workspace unasked; asks for the rest"
    ),
    ModeInfo("plan", "Plan", "Reads and plans; writes nothing and runs nothing"),
    ModeInfo("bypass", "Bypass", "Never asks; only what is always forbidden stays so"),
)
MODE_IDS = ", ".join(mode.id for mode in MODES)


def is_mode(value: object) -> TypeGuard[Mode]:
    """Whether this is the id of a mode."""
    return any(mode.id == value for mode in MODES)
