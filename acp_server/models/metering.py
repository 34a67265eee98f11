"""What a model holds and costs, from the table of families and what its endpoint says."""

import sys

from acp_server.frozen import frozen
from acp_server.models.estimating import estimate_request_tokens
from acp_server.models.families import ModelFamily, cost_usd
from acp_server.turn.events import Usage
from acp_server.turn.ports import ModelRequest


@frozen
class FamilyMeter:
    """The turn's meter over a family."""

    family: ModelFamily

    @property
    def window_tokens(self) -> int:
        """The window: prompt and answer together."""
        return self.family.context_window_tokens

    def estimate(self, request: ModelRequest) -> int:
        """Return about how many tokens a request is."""
        return estimate_request_tokens(request)

    def cost_usd(self, usage: Usage) -> float | None:
        """Return what one call cost, if the price is known."""
        return cost_usd(
            self.family,
            usage.input_tokens,
            usage.output_tokens,
            usage.cache_read_tokens,
            usage.cache_write_5m_tokens,
            usage.cache_write_1h_tokens,
        )


class Unmetered:
    """The turn's meter of a model that has no window and costs nothing: a script."""

    @property
    def window_tokens(self) -> int:
        """More than any prompt."""
        return sys.maxsize

    def estimate(self, request: ModelRequest) -> int:
        """Return nothing: it is not read for its length."""
        del request
        return 0

    def cost_usd(self, usage: Usage) -> None:
        """Return no price."""
        del usage
