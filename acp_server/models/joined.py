"""The models of every configured provider, as one catalog.

The first provider's models have their own ids; those of the others are written `PROVIDER:ID`.
"""

from collections.abc import Callable, Mapping, Sequence

import anyio

from acp_server.session.ports import ModelCatalog, ModelChoice
from acp_server.turn.loop import Meter
from acp_server.turn.ports import Model


class JoinedCatalog:
    """Several catalogs, the first of which has the default."""

    def __init__(self, first: ModelCatalog, others: Mapping[str, ModelCatalog]) -> None:
        """Join; `others` by the names of their providers."""
        self._first = first
        self._others = others

    @property
    def default_id(self) -> str:
        """That of the first."""
        return self._first.default_id

    def choices(self) -> Sequence[ModelChoice]:
        """Return the models of all, those of the first before the others."""
        choices = list(self._first.choices())
        for provider, catalog in self._others.items():
            choices += [
                ModelChoice(f"{provider}:{choice.id}", f"{choice.name} ({provider})")
                for choice in catalog.choices()
            ]
        return choices

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return how deeply a model can be asked to think."""
        catalog, own_id = self._place(model_id)
        return catalog.thought_levels(own_id)

    def default_thought_level(self, model_id: str) -> str | None:
        """Return the level to begin with."""
        catalog, own_id = self._place(model_id)
        return catalog.default_thought_level(own_id)

    def model(self, model_id: str) -> Model:
        """Return the adapter of a model."""
        catalog, own_id = self._place(model_id)
        return catalog.model(own_id)

    def meter(self, model_id: str) -> Meter:
        """Return what the model holds and costs."""
        catalog, own_id = self._place(model_id)
        return catalog.meter(own_id)

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return the size of the model's window; None if it is only assumed."""
        catalog, own_id = self._place(model_id)
        return catalog.known_window_tokens(own_id)

    async def refresh(self) -> None:
        """Ask the endpoints at once; one that does not answer keeps no other waiting.

        Of the others, whose SDKs would be imported for it, only those whose list is not known.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._first.refresh)
            for catalog in self._others.values():
                if not _is_known(catalog):
                    tasks.start_soon(catalog.refresh)

    async def settle(self) -> None:
        """Learn which model the default is."""
        await self._first.settle()

    async def learn_of(self, model_id: str) -> None:
        """Ask the one endpoint that would have the model."""
        catalog, own_id = self._place(model_id)
        await catalog.learn_of(own_id)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have a function called whenever the choices of any change."""
        for catalog in (self._first, *self._others.values()):
            catalog.on_change(listener)

    def _place(self, model_id: str) -> tuple[ModelCatalog, str]:
        """Return the catalog that a model is in, and its id there."""
        provider, colon, own_id = model_id.partition(":")
        if colon and provider in self._others:
            return self._others[provider], own_id
        return self._first, model_id


def _is_known(catalog: ModelCatalog) -> bool:
    """Whether a catalog has more than its default, as it does from its endpoint's list."""
    return any(choice.id != catalog.default_id for choice in catalog.choices())
