"""What becomes of a prompt, for whoever sent it."""

from dataclasses import dataclass

from acp_server.turn.loop import Spent
from acp_server.turn.ports import StopReason


@dataclass(frozen=True, slots=True)
class Answer:
    """How a prompt ended, and what it used."""

    reason: StopReason
    spent: Spent
