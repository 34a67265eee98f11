"""What a session needs of the world beside its turns: the models to choose from."""

from collections.abc import Callable, Sequence
from typing import Protocol

from acp_server.frozen import frozen
from acp_server.turn.loop import Meter
from acp_server.turn.ports import Model


@frozen
class ModelChoice:
    """A model as a picker shows it."""

    id: str
    name: str


class ModelCatalog(Protocol):
    """The models that can be had. Only `refresh`, `settle`, `learn_of` wait for a network."""

    @property
    def default_id(self) -> str:
        """The model of a new session; a stand-in until the endpoint's list is known."""
        ...

    def choices(self) -> Sequence[ModelChoice]:
        """Return the models known by now, the default among them."""
        ...

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return how deeply a model can be asked to think, mildest first; empty for no choice."""
        ...

    def default_thought_level(self, model_id: str) -> str | None:
        """Return the level to begin with."""
        ...

    def model(self, model_id: str) -> Model:
        """Return the adapter of a model, known or not: an unknown one fails when it is asked."""
        ...

    def meter(self, model_id: str) -> Meter:
        """Return what the model holds and costs."""
        ...

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return the size of the model's window; None if it is only assumed."""
        ...

    async def refresh(self) -> None:
        """Learn what the endpoint offers, once; failing changes nothing and raises nothing."""
        ...

    async def settle(self) -> None:
        """Learn which model the default is, if only the endpoint knows; failing raises nothing."""
        ...

    async def learn_of(self, model_id: str) -> None:
        """Learn what the endpoint of a model offers, unless it is a choice by now."""
        ...

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have a function called whenever the choices change."""
        ...
