"""What becomes of a prompt, for whoever sent it."""

from acp_server.frozen import frozen
from acp_server.turn.loop import Spent
from acp_server.turn.ports import StopReason


@frozen
class Answer:
    """How a prompt ended, and what it used."""

    reason: StopReason
    spent: Spent
