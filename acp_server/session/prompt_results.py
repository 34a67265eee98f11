"""The result of a prompt, as its caller receives it."""

from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.loop import Spent
from acp_server.turn.ports import StopReason


@frozen
class Answer:
    """How a prompt ended and the usage it caused."""

    reason: StopReason
    spent: Spent
