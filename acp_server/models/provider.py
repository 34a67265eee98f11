"""The models of one endpoint, as a session's catalog, whatever form the endpoint speaks.

Nothing is imported, asked or signed in before a prompt needs it.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.credentials import Credential
from acp_server.frozen import frozen
from acp_server.models.access import Access, ListedModel
from acp_server.models.families import ModelFamily, default_thought_level, thought_levels
from acp_server.models.listing import load_list, save_list
from acp_server.models.loading import SdkLoader
from acp_server.models.metering import FamilyMeter
from acp_server.models.retry import RetryPolicy
from acp_server.models.speech import Speech
from acp_server.session.ports import ModelChoice
from acp_server.turn.errors import (
    CredentialsMissingError,
    ModelFailedError,
    ModelUnavailableError,
    TurnError,
)
from acp_server.turn.ports import Model, ModelRequest, ModelStop, Receive

logger = logging.getLogger(__name__)

UNDECIDED = "default"
"""Stands for the default model until the endpoint's list is known."""
LISTLESS_KINDS = ("request", "unknown", "other")
"""How an endpoint fails that has no list; other failures say something of the endpoint itself."""


@frozen
class Plan:
    """What was configured about an endpoint."""

    access: Access
    """Without a key: that is found when it is needed."""
    model_id: str | None
    retry: RetryPolicy
    list_file: Path
    """Where the endpoint's list is kept between runs, so that the next start knows it."""
    searches_web: bool = False
    """Whether the provider's own web search is offered, where the model has it."""


class EndpointCatalog:
    """A catalog over one endpoint."""

    def __init__(
        self,
        plan: Plan,
        speech: Speech,
        credentials: Callable[[], Awaitable[Credential | None]],
        loader: SdkLoader,
    ) -> None:
        self._plan = plan
        self._speech = speech
        self._credentials = credentials
        self._loader = loader
        self._listed = load_list(plan.list_file, plan.access.base_url)
        self._listeners: list[Callable[[], None]] = []
        self._is_listed = False
        self._list_problem: TurnError | None = None
        """Why the list could not be had when it was last asked for."""
        self._listing = anyio.Lock()

    @property
    def default_id(self) -> str:
        """The configured model, else one that the endpoint lists, else a stand-in."""
        listed = self._speech.default_model([model.id for model in self._listed])
        return self._plan.model_id or listed or UNDECIDED

    def choices(self) -> Sequence[ModelChoice]:
        """Return the listed models, the default first if it is not among them."""
        choices = [
            ModelChoice(model.id, model.name)
            for model in self._listed
            if self._speech.is_offered(model.id)
        ]
        if all(choice.id != self.default_id for choice in choices):
            choices.insert(0, ModelChoice(self.default_id, _name(self.default_id)))
        return choices

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return the levels of a model's family."""
        return thought_levels(self.family(model_id))

    def default_thought_level(self, model_id: str) -> str | None:
        """Return the family's own level."""
        return default_thought_level(self.family(model_id))

    def model(self, model_id: str) -> Model:
        """Return the adapter of a model."""
        return DeferredModel(self, model_id)

    def meter(self, model_id: str) -> FamilyMeter:
        """Return what a model holds and costs."""
        return FamilyMeter(self.family(model_id))

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return the window of a model if the configuration, its endpoint or a table says it."""
        return self._speech.known_window_tokens(model_id, self._listed_model(model_id))

    def on_change(self, listener: Callable[[], None]) -> None:
        """Have a function called when the list has come."""
        self._listeners.append(listener)

    async def refresh(self) -> None:
        """Ask the endpoint for its list, unless that was done; who comes meanwhile waits for it."""
        async with self._listing:
            if not self._is_listed:
                await self._list()

    async def settle(self) -> None:
        """Learn which model the default is, if only the endpoint knows."""
        if self.default_id == UNDECIDED:
            await self.refresh()

    async def learn_of(self, model_id: str) -> None:
        """Ask the endpoint for its list if the model is none of the choices, unless that was done.

        A list that was kept may be older than the model.
        """
        if all(choice.id != model_id for choice in self.choices()):
            await self.refresh()

    async def listed(self) -> tuple[ListedModel, ...]:
        """Return what the endpoint offers now.

        Raises:
            TurnError: it does not tell.
        """
        access, sdk = await self._access(), await self._loader.load()
        self._learn(await sdk.list_models(access))
        await to_thread.run_sync(
            save_list, self._plan.list_file, self._plan.access.base_url, self._listed
        )
        return self._listed

    async def _list(self) -> None:
        self._list_problem = None
        try:
            await self.listed()
        except TurnError as error:
            self._list_problem = error
            logger.info("no list of models: %s", error.reason)

    async def adapter(self, model_id: str) -> Model:
        """Sign in and return what really asks a model.

        Raises:
            CredentialsMissingError: there is nothing to sign in with.
            ModelUnavailableError: no model was chosen, and the endpoint lists none we know.
            ModelFailedError: no model was chosen, and the endpoint could not be asked for its list.
        """
        access, sdk = await self._access(), await self._loader.load()
        if model_id == UNDECIDED:
            await self.settle()
            model_id = self.default_id
        if model_id == UNDECIDED:
            raise _why_undecided(self._list_problem)
        return sdk.model(access, model_id, self.family(model_id), self._plan.retry)

    def family(self, model_id: str) -> ModelFamily:
        """Return a model's family, corrected by what the endpoint says of it."""
        family = self._speech.family(model_id, self._listed_model(model_id))
        searches = self._plan.searches_web and family.thinking != "none"  # all that think can
        return replace(family, searches_web=True) if searches else family

    def _listed_model(self, model_id: str) -> ListedModel | None:
        return next((model for model in self._listed if model.id == model_id), None)

    async def _access(self) -> Access:
        credential = await self._credentials()
        if credential is None:
            if self._speech.needs_key:
                raise CredentialsMissingError(self._speech.sign_in)
            return self._plan.access
        return replace(
            self._plan.access, api_key=credential.api_key, auth_token=credential.auth_token
        )

    def _learn(self, listed: tuple[ListedModel, ...]) -> None:
        self._is_listed = True
        if listed != self._listed:
            self._listed = listed
            for listener in self._listeners:
                listener()


class DeferredModel:
    """A model that signs in and loads what speaks its form when it is first asked."""

    def __init__(self, catalog: EndpointCatalog, model_id: str) -> None:
        self._catalog = catalog
        self._model_id = model_id

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Ask the model; see the port.

        Raises:
            TurnError: it cannot be asked, or failed.
        """
        adapter = await self._catalog.adapter(self._model_id)
        return await adapter.respond(request, receive)


def _why_undecided(problem: TurnError | None) -> TurnError:
    """Return why there is no default; an endpoint without a list is no failure of its own."""
    if isinstance(problem, ModelFailedError) and problem.kind not in LISTLESS_KINDS:
        return problem
    named = f" ({problem.reason})" if problem is not None else ""
    return ModelUnavailableError(
        f"choose a model: the endpoint's list names none that is known here{named}"
    )


def _name(model_id: str) -> str:
    return "Default" if model_id == UNDECIDED else model_id
