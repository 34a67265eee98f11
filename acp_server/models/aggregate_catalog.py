"""Aggregate catalog: the models of all configured providers.

The first provider's models keep their ids; the ids of other providers are written `PROVIDER:ID`.
"""

from collections.abc import Callable, Mapping, Sequence

import anyio

from acp_server.session.ports.model_catalog import ModelCatalog, ModelChoice
from acp_server.turn.context_counter import ModelMeter
from acp_server.turn.ports import Model


class AggregateCatalog:
    """Several catalogs as one; the first provides the default model."""

    def __init__(self, first: ModelCatalog, others: Mapping[str, ModelCatalog]) -> None:
        """Combine catalogs; the keys of `others` are provider names."""
        self._first = first
        self._others = others

    @property
    def default_id(self) -> str:
        """The default model of the first catalog."""
        return self._first.default_id

    @property
    def has_list(self) -> bool:
        """Whether every endpoint's own list is known."""
        return self._first.has_list and all(each.has_list for each in self._others.values())

    def choices(self) -> Sequence[ModelChoice]:
        """Return the models of all catalogs, the first catalog's before the others."""
        choices = list(self._first.choices())
        for provider, catalog in self._others.items():
            choices += [
                ModelChoice(
                    f"{provider}:{choice.id}", f"{choice.name} ({provider})", choice.description
                )
                for choice in catalog.choices()
            ]
        return choices

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return a model's thought levels, mildest first."""
        catalog, own_id = self._locate(model_id)
        return catalog.thought_levels(own_id)

    def default_thought_level(self, model_id: str) -> str | None:
        """Return a model's default thought level."""
        catalog, own_id = self._locate(model_id)
        return catalog.default_thought_level(own_id)

    def describe_fast_mode(self, model_id: str) -> str | None:
        """Return what fast mode of a model gives and costs; None if it has none."""
        catalog, own_id = self._locate(model_id)
        return catalog.describe_fast_mode(own_id)

    def model(self, model_id: str) -> Model:
        """Return an adapter for a model."""
        catalog, own_id = self._locate(model_id)
        return catalog.model(own_id)

    def meter(self, model_id: str) -> ModelMeter:
        """Return the meter (context window, token estimate, price) of a model."""
        catalog, own_id = self._locate(model_id)
        return catalog.meter(own_id)

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return a model's context window; None if it is only assumed."""
        catalog, own_id = self._locate(model_id)
        return catalog.known_window_tokens(own_id)

    async def refresh(self) -> None:
        """Fetch the lists concurrently, so that a slow endpoint does not delay the others.

        Other providers than the first are asked only if their list is unknown: asking imports
        their SDK.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._first.refresh)
            for catalog in self._others.values():
                if not catalog.has_list:
                    tasks.start_soon(catalog.refresh)

    async def resolve_default(self) -> None:
        """Fetch the first provider's list if only its endpoint knows the default model."""
        await self._first.resolve_default()

    async def load_models_of(self, model_id: str) -> None:
        """Ask the endpoint that a model id belongs to for its list, if it lacks the model."""
        catalog, own_id = self._locate(model_id)
        await catalog.load_models_of(own_id)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the choices of any catalog change."""
        for catalog in (self._first, *self._others.values()):
            catalog.on_change(listener)

    def _locate(self, model_id: str) -> tuple[ModelCatalog, str]:
        """Return the catalog of a model and the model's id in that catalog."""
        provider, colon, own_id = model_id.partition(":")
        # An id can contain a colon of its own (Ollama: `qwen3:8b`): check for a known provider.
        if colon and provider in self._others:
            return self._others[provider], own_id
        return self._first, model_id
