"""Cost limit of a session: the user is asked whenever another such amount is spent."""

LIMIT_TITLE = "This session has reached its cost limit. Let it continue?"
LIMIT_REASON = (
    "the session has cost {cost:.2f} USD, and the limit is {limit:.2f} USD (max_cost); if it "
    "continues, you are asked again after another {step:.2f} USD"
)
PRICE_UNKNOWN = "The price of this model is unknown, so the limit max_cost does not apply to it."


class SpendingLimit:
    """The limit of one session; it rises each time the user lets the session continue."""

    def __init__(self, step_usd: float) -> None:
        """Set the first limit, and the amount that each answer adds."""
        self.step_usd = step_usd
        self.limit_usd = step_usd
        self.has_warned = False
        """Whether the user was told that the price of a model is unknown."""

    def is_reached(self, cost_usd: float | None) -> bool:
        """Return whether the cost so far calls for a question."""
        return cost_usd is not None and cost_usd >= self.limit_usd

    def extend(self, cost_usd: float) -> None:
        """Allow the session to cost another step from here on."""
        self.limit_usd = cost_usd + self.step_usd
