"""The result of a prompt, as its caller receives it."""

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.ports import StopReason
from acp_server.turn.usage_totals import UsageTotals


@frozen_dataclass
class PromptResult:
    """How a prompt ended and the usage it caused."""

    reason: StopReason
    usage: UsageTotals
    checkpoint: str = ""
    """Id of the state before it; empty if it led to no turn of its own."""
