"""What a run may cost, held against what its model calls have used, before each of them.

Stands around the models, so that every call counts: of the turn, of summaries, of sub-agents.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from acp_server.session.ports import ModelCatalog, ModelChoice
from acp_server.turn.errors import TurnError
from acp_server.turn.events import Usage
from acp_server.turn.loop import Meter, Spent
from acp_server.turn.ports import Model, ModelEvent, ModelRequest, ModelStop, Receive, UsageReported

ONE_TOKEN = Usage(input_tokens=1, output_tokens=1)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most that a run may use; None is no limit."""

    requests: int | None = None
    """Model calls."""
    cost_usd: float | None = None
    tokens: int | None = None
    """All that models read, from caches too, and write."""


class BudgetSpentError(TurnError):
    """The next model call would go beyond what the run may use."""


class PriceUnknownError(TurnError):
    """A limit on the cost cannot be kept, for nobody knows what the model costs."""


@dataclass(slots=True)
class Ledger:
    """What a run has used so far."""

    budget: Budget = field(default_factory=Budget)
    spent: Spent = field(default_factory=Spent)
    fault: BudgetSpentError | PriceUnknownError | None = None
    """Why no more calls are made."""
    unasked: ModelRequest | None = None
    """What the call that was not made would have said."""

    def check(self, meter: Meter, model_id: str) -> None:
        """Let one more call be made.

        Raises:
            BudgetSpentError: no more may be used.
            PriceUnknownError: the cost is limited and cannot be known.
        """
        self.fault = self._fault(meter, model_id)
        if self.fault is not None:
            raise self.fault

    def _fault(self, meter: Meter, model_id: str) -> BudgetSpentError | PriceUnknownError | None:
        budget, spent = self.budget, self.spent
        if budget.cost_usd is not None and meter.cost_usd(ONE_TOKEN) is None:
            reason = f"the price of {model_id} is not known, so --max-cost cannot be kept"
            return PriceUnknownError(reason)
        tokens = spent.usage.prompt_tokens + spent.usage.output_tokens
        for name, limit, used in (
            ("--max-turns", budget.requests, spent.requests),
            ("--max-cost", budget.cost_usd, spent.cost_usd or 0.0),
            ("--max-tokens", budget.tokens, tokens),
        ):
            if limit is not None and used >= limit:
                return BudgetSpentError(f"the budget of this run is spent ({name} {limit:g})")
        return None


@dataclass(frozen=True, slots=True)
class CountedCatalog:
    """The models of another catalog, their calls counted and limited."""

    inner: ModelCatalog
    ledger: Ledger

    @property
    def default_id(self) -> str:
        """The model of a new session."""
        return self.inner.default_id

    def choices(self) -> Sequence[ModelChoice]:
        """Return the models known by now."""
        return self.inner.choices()

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return how deeply a model can be asked to think."""
        return self.inner.thought_levels(model_id)

    def default_thought_level(self, model_id: str) -> str | None:
        """Return the level to begin with."""
        return self.inner.default_thought_level(model_id)

    def model(self, model_id: str) -> Model:
        """Return the adapter of a model, limited."""
        return CountedModel(self.inner.model(model_id), model_id, self.meter(model_id), self.ledger)

    def meter(self, model_id: str) -> Meter:
        """Return what the model holds and costs."""
        return self.inner.meter(model_id)

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return the size of the model's window, if it is known."""
        return self.inner.known_window_tokens(model_id)

    async def refresh(self) -> None:
        """Learn what the endpoint offers."""
        await self.inner.refresh()

    async def settle(self) -> None:
        """Learn which model the default is."""
        await self.inner.settle()

    async def learn_of(self, model_id: str) -> None:
        """Learn what the endpoint of a model offers."""
        await self.inner.learn_of(model_id)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have a function called whenever the choices change."""
        self.inner.on_change(listener)


@dataclass(frozen=True, slots=True)
class CountedModel:
    """A model whose calls are counted; beyond the budget it is not asked."""

    inner: Model
    model_id: str
    meter: Meter
    ledger: Ledger

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Ask, if that may still be; see the port.

        Raises:
            BudgetSpentError: no more may be used.
            PriceUnknownError: the cost is limited and cannot be known.
            TurnError: the model cannot be asked, or failed.
        """
        try:
            self.ledger.check(self.meter, self.model_id)
        except TurnError:
            self.ledger.unasked = request
            raise
        used = Usage()

        async def note(event: ModelEvent) -> None:
            nonlocal used
            if isinstance(event, UsageReported):
                used = event.usage
            await receive(event)

        try:
            return await self.inner.respond(request, note)
        finally:
            self.ledger.spent.add(used, self.meter.cost_usd(used))
