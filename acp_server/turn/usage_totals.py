"""Usage totals of a session."""

from dataclasses import dataclass, field, replace

from acp_server.turn.events import Usage

COST_DECIMALS = 10
"""Decimal places of a dollar amount; digits beyond are float noise, not a price."""


@dataclass(slots=True)
class UsageTotals:
    """Usage totals of a session; each turn adds to them."""

    usage: Usage = field(default_factory=Usage)
    requests: int = 0
    cost_usd: float | None = None
    context_tokens: int = field(default=0, compare=False)
    """Tokens in the context window after the last call."""

    def copy(self) -> "UsageTotals":
        """Return a copy of the totals so far."""
        return replace(self)

    def since(self, before: "UsageTotals") -> "UsageTotals":
        """Return the usage since `before`."""
        cost = self.cost_usd
        if cost is not None:
            cost = round(cost - (before.cost_usd or 0.0), COST_DECIMALS)
        requests = self.requests - before.requests
        return UsageTotals(self.usage - before.usage, requests, cost, self.context_tokens)

    def add(self, usage: Usage, cost_usd: float | None) -> None:
        """Add one model call."""
        self.usage += usage
        self.requests += 1
        if cost_usd is not None:
            self.cost_usd = round((self.cost_usd or 0.0) + cost_usd, COST_DECIMALS)
