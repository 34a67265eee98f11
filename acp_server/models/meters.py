"""Meters: a model's context window, token estimate and price."""

import sys

from acp_server.models.families import ModelFamily, answer_tokens, cost_usd
from acp_server.models.token_estimate import estimate_message, estimate_request
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Message
from acp_server.turn.events import Usage
from acp_server.turn.ports import ModelRequest


@frozen_dataclass
class FamilyMeter:
    """Meter of a model family."""

    family: ModelFamily

    @property
    def window_tokens(self) -> int:
        """The context window: prompt and answer together."""
        return self.family.context_window_tokens

    @property
    def answer_tokens(self) -> int:
        """The tokens of the context window that must stay free for the answer."""
        return answer_tokens(self.family)

    def estimate(self, request: ModelRequest) -> int:
        """Estimate the prompt tokens of a request."""
        return estimate_request(request, self.family)

    def estimate_message(self, message: Message) -> int:
        """Estimate the prompt tokens of one message."""
        return estimate_message(message, self.family)

    def cost_usd(self, usage: Usage) -> float | None:
        """Return the price of one request in US dollars; None if it is unknown."""
        cost = cost_usd(
            self.family,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_5m_tokens,
            usage.cache_write_1h_tokens,
        )
        if cost is None or not usage.is_fast:
            return cost
        return cost * self.family.fast_price_factor


class NullMeter:
    """Meter of a model without a context window or price, such as a script."""

    @property
    def window_tokens(self) -> int:
        """A size larger than any prompt."""
        return sys.maxsize

    @property
    def answer_tokens(self) -> int:
        """Zero: the window is never full."""
        return 0

    def estimate(self, request: ModelRequest) -> int:
        """Return 0: the size of a request does not matter."""
        del request
        return 0

    def estimate_message(self, message: Message) -> int:
        """Return 0: the size of a message does not matter."""
        del message
        return 0

    def cost_usd(self, usage: Usage) -> None:
        """Return None: there is no price."""
        del usage
