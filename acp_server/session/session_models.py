"""The models of a session: turn contexts for them, and requests outside the conversation."""

from collections.abc import Sequence
from dataclasses import replace

from acp_server.session.empty_toolbox import EmptyToolbox
from acp_server.session.ids import new_id
from acp_server.session.ports.model_catalog import FallbackChoice, ModelCatalog
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.recorder import SessionRecorder
from acp_server.session.side_requests import NullSink, ask_model
from acp_server.turn.context import FallbackModel, TurnContext
from acp_server.turn.context_counter import ContextCounter, TokenScales
from acp_server.turn.conversation import Message, Text, UserMessage
from acp_server.turn.ports import Model, ModelRequest, Toolbox


class SessionModels:
    """The adapters of the models that a session has used, one per model."""

    def __init__(
        self,
        options: SelectedOptions,
        recorder: SessionRecorder,
        fallbacks: Sequence[FallbackChoice],
        scales: dict[str, float],
    ) -> None:
        """Prepare; `fallbacks` are models to use when another one is out of service.

        `scales` are the corrections of token estimates that all sessions have learned, by model.
        """
        self._options = options
        self._recorder = recorder
        self._fallbacks = fallbacks
        self._models: dict[tuple[int, str], Model] = {}
        """By the identity of the catalog, which lives as long as the session, and the model's id.
        """
        self._scales = TokenScales(scales)

    def context_for(self, model_id: str, toolbox: Toolbox, system: str) -> TurnContext:
        """Return a turn context for a model, for the conversation or for a side request."""
        catalog = self._options.catalog
        fallbacks = (
            self._fallback(each)
            for each in self._fallbacks
            if each.catalog is not None or each.model_id != model_id
        )
        return TurnContext(
            model=self._model(catalog, model_id),
            meter=catalog.meter(model_id),
            fallbacks=tuple(fallbacks),
            toolbox=toolbox,
            new_id=new_id,
            system=system,
            thought_level=self._options.thought_level,
            is_fast=self._options.is_fast,
            durability=self._recorder,
            counter=self.new_counter(),
        )

    def switch(self, context: TurnContext, model_id: str) -> TurnContext:
        """Return a turn context in which another model answers; all else stays."""
        catalog = self._options.catalog
        return replace(context, model=self._model(catalog, model_id), meter=catalog.meter(model_id))

    def new_counter(self) -> ContextCounter:
        """Return a counter for a conversation; all counters learn together."""
        return ContextCounter(self._scales)

    def _fallback(self, choice: FallbackChoice) -> FallbackModel:
        catalog = choice.catalog or self._options.catalog
        model = self._model(catalog, choice.model_id)
        return FallbackModel(choice.name, model, catalog.meter(choice.model_id))

    def _model(self, catalog: ModelCatalog, model_id: str) -> Model:
        key = (id(catalog), model_id)
        if key not in self._models:
            self._models[key] = catalog.model(model_id)
            self._scales.add_model(self._models[key], model_id)
        return self._models[key]

    async def ask(self, instructions: str, text: str) -> str:
        """Return the selected model's answer to a text, outside the conversation.

        Raises:
            TurnError: the model cannot be asked, failed, or returned no text.
        """
        return await self.answer((UserMessage((Text(text),)),), instructions)

    async def answer(self, messages: Sequence[Message], instructions: str) -> str:
        """Return the selected model's answer to messages, outside the conversation.

        Raises:
            TurnError: the model cannot be asked, failed, or returned no text.
        """
        context = self.context_for(self._options.model_id, EmptyToolbox(), instructions)
        request = ModelRequest(messages, instructions)
        return await ask_model(request, context, self._recorder.totals, NullSink())
