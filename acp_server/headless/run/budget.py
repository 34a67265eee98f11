"""Budget of a run, checked before each model call.

Wraps the model catalog, so that every call counts: of turns, summaries and sub-agents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from acp_server.session.ports.model_catalog import ModelCatalog, ModelChoice
from acp_server.turn.context_counter import ModelMeter
from acp_server.turn.errors import TurnError
from acp_server.turn.events import Usage
from acp_server.turn.ports import (
    Model,
    ModelEvent,
    ModelRequest,
    ModelStop,
    ReceiveEvent,
    UsageReported,
)
from acp_server.turn.usage_totals import UsageTotals

ONE_TOKEN = Usage(input_tokens=1, output_tokens=1)


@dataclass(frozen=True, slots=True)
class RunBudget:
    """Limits of a run; None means no limit."""

    requests: int | None = None
    """Number of model calls."""
    cost_usd: float | None = None
    tokens: int | None = None
    """Input tokens, including cache reads and writes, plus output tokens."""


class RunBudgetExceededError(TurnError):
    """A limit is reached: the next model call is not made."""


class PriceUnknownError(TurnError):
    """The cost limit cannot be enforced, because the price of the model is unknown."""


@dataclass(slots=True)
class BudgetLedger:
    """Usage of a run so far, checked against its budget."""

    budget: RunBudget = field(default_factory=RunBudget)
    usage: UsageTotals = field(default_factory=UsageTotals)
    error: RunBudgetExceededError | PriceUnknownError | None = None
    """The reason why the last call was not made; None if it was."""
    first_request: ModelRequest | None = None
    """The first request that was sent."""
    models: list[str] = field(default_factory=list[str])
    """The models that have answered, as their endpoints name them."""
    blocked_request: ModelRequest | None = None
    """The request that was not sent because of `error`."""

    def check(self, meter: ModelMeter, model_id: str) -> None:
        """Check that one more call may be made.

        Raises:
            RunBudgetExceededError: A limit is reached.
            PriceUnknownError: The cost is limited, but the model's price is unknown.
        """
        self.error = self._find_error(meter, model_id)
        if self.error is not None:
            raise self.error

    def _find_error(
        self, meter: ModelMeter, model_id: str
    ) -> RunBudgetExceededError | PriceUnknownError | None:
        budget, spent = self.budget, self.usage
        if budget.cost_usd is not None and meter.cost_usd(ONE_TOKEN) is None:
            reason = f"the price of {model_id} is unknown; use --max-tokens instead of --max-cost"
            return PriceUnknownError(reason)
        tokens = spent.usage.prompt_tokens + spent.usage.output_tokens
        for name, limit, used in (
            ("--max-turns", budget.requests, spent.requests),
            ("--max-cost", budget.cost_usd, spent.cost_usd or 0.0),
            ("--max-tokens", budget.tokens, tokens),
        ):
            if limit is not None and used >= limit:
                return RunBudgetExceededError(f"the run has reached its limit ({name} {limit:g})")
        return None


@dataclass(frozen=True, slots=True)
class BudgetedCatalog:
    """Wrapper of a model catalog whose models count and limit their calls."""

    inner: ModelCatalog
    ledger: BudgetLedger

    @property
    def default_id(self) -> str:
        """The default model of a new session."""
        return self.inner.default_id

    @property
    def has_list(self) -> bool:
        """Whether the endpoint's own list is known."""
        return self.inner.has_list

    def choices(self) -> Sequence[ModelChoice]:
        """Return the models known so far."""
        return self.inner.choices()

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return the thinking levels that a model supports."""
        return self.inner.thought_levels(model_id)

    def default_thought_level(self, model_id: str) -> str | None:
        """Return a model's default thinking level."""
        return self.inner.default_thought_level(model_id)

    def describe_fast_mode(self, model_id: str) -> str | None:
        """Return what fast mode of a model gives and costs."""
        return self.inner.describe_fast_mode(model_id)

    def model(self, model_id: str) -> Model:
        """Return a model that respects the budget."""
        return BudgetedModel(
            self.inner.model(model_id), model_id, self.meter(model_id), self.ledger
        )

    def meter(self, model_id: str) -> ModelMeter:
        """Return a model's context window and prices."""
        return self.inner.meter(model_id)

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return the size of a model's context window, if known."""
        return self.inner.known_window_tokens(model_id)

    async def refresh(self) -> None:
        """Fetch the endpoint's model list."""
        await self.inner.refresh()

    async def resolve_default(self) -> None:
        """Determine the default model."""
        await self.inner.resolve_default()

    async def load_models_of(self, model_id: str) -> None:
        """Fetch the model list of a model's endpoint."""
        await self.inner.load_models_of(model_id)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Register a function to be called when the choices change."""
        self.inner.on_change(listener)


@dataclass(frozen=True, slots=True)
class BudgetedModel:
    """Wrapper of a model that counts calls and makes none beyond the budget."""

    inner: Model
    model_id: str
    meter: ModelMeter
    ledger: BudgetLedger

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Call the model if the budget allows it; see `Model.respond`.

        Raises:
            RunBudgetExceededError: A limit is reached.
            PriceUnknownError: The cost is limited, but the model's price is unknown.
            TurnError: The model is unavailable, or failed.
        """
        try:
            self.ledger.check(self.meter, self.model_id)
        except TurnError:
            self.ledger.blocked_request = request
            raise
        usage = Usage()
        ledger = self.ledger
        ledger.first_request = ledger.first_request or request

        async def receive_counted(event: ModelEvent) -> None:
            nonlocal usage
            if isinstance(event, UsageReported):
                usage = event.usage
                if event.model and event.model not in ledger.models:
                    ledger.models.append(event.model)
            await receive(event)

        try:
            return await self.inner.respond(request, receive_counted)
        finally:  # a call that failed or was cancelled is billed too
            self.ledger.usage.add(usage, self.meter.cost_usd(usage))
