"""The model catalog port: the models that a session can choose from."""

from collections.abc import Callable, Sequence
from typing import Protocol

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.context_counter import ModelMeter
from acp_server.turn.ports import Model


@frozen_dataclass
class ModelChoice:
    """A model as a picker shows it."""

    id: str
    name: str
    description: str = ""
    """Its purpose and price, as far as they are known."""


class ModelCatalog(Protocol):
    """The available models. `refresh`, `resolve_default`, `load_models_of` use the network."""

    @property
    def default_id(self) -> str:
        """The model of a new session; a placeholder until the endpoint's list is known."""
        ...

    @property
    def has_list(self) -> bool:
        """Whether the choices come from the endpoint, now or earlier, and not from a table."""
        ...

    def choices(self) -> Sequence[ModelChoice]:
        """Return the models known so far, including the default."""
        ...

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return a model's thought levels, lowest first; empty if it offers no choice."""
        ...

    def default_thought_level(self, model_id: str) -> str | None:
        """Return the thought level to start with."""
        ...

    def describe_fast_mode(self, model_id: str) -> str | None:
        """Return what fast mode of a model gives and costs; None if it has none."""
        ...

    def model(self, model_id: str) -> Model:
        """Return the adapter of a model, known or not; an unknown model fails when it is asked."""
        ...

    def meter(self, model_id: str) -> ModelMeter:
        """Return a model's context window and prices."""
        ...

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return a model's context window in tokens; None if it is only assumed."""
        ...

    async def refresh(self) -> None:
        """Load the endpoint's model list once; a failure changes nothing and raises nothing."""
        ...

    async def resolve_default(self) -> None:
        """Resolve the default model if only the endpoint knows it; a failure raises nothing."""
        ...

    async def load_models_of(self, model_id: str) -> None:
        """Load the model list of a model's endpoint unless the model is already a choice."""
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Register a function to call whenever the choices change."""
        ...


@frozen_dataclass
class FallbackChoice:
    """A model for when the chosen one is out of service."""

    model_id: str
    """Its id in its catalog."""
    catalog: ModelCatalog | None = None
    """The catalog of an endpoint of its own; None for the session's."""
    address: str = ""
    """The host of that endpoint, for display."""

    @property
    def name(self) -> str:
        """The name for the user."""
        return f"{self.model_id} at {self.address}" if self.address else self.model_id
