"""Model catalog of one endpoint, independent of the API format that the endpoint speaks.

Lazy: no SDK is imported, no credential is read and no request is sent before a prompt needs it.
"""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

import anyio
from anyio import to_thread

from acp_server.config.credentials import Credential
from acp_server.models.access import Access, ListedModel
from acp_server.models.families import ModelFamily, default_thought_level, thought_levels
from acp_server.models.lazy_imports import SdkLoader
from acp_server.models.meters import FamilyMeter
from acp_server.models.model_list_cache import load_list, save_list
from acp_server.models.provider_adapter import Speech
from acp_server.models.retry_policy import RetryPolicy
from acp_server.session.ports.model_catalog import ModelChoice
from acp_server.startup.fast_dataclass import frozen
from acp_server.turn.errors import (
    CredentialsMissingError,
    ModelFailedError,
    ModelUnavailableError,
    TurnError,
)
from acp_server.turn.ports import Model, ModelRequest, ModelStop, Receive

logger = logging.getLogger(__name__)

UNDECIDED = "default"
"""Placeholder id of the default model until the endpoint's list is known."""
LISTLESS_KINDS = ("request", "unknown", "other")
"""Failure kinds of an endpoint that only lacks a model list.

Any other kind (authentication, connection, ...) is a problem of the endpoint itself.
"""


@frozen
class Plan:
    """Configuration of one endpoint and its catalog."""

    access: Access
    """Has no API key yet: the key is looked up when the endpoint is first used."""
    model_id: str | None
    retry: RetryPolicy
    list_file: Path
    """Cache file of the endpoint's model list, so that the next start knows the models."""
    searches_web: bool = False
    """Whether to offer the provider's own web search on models that have it."""


class EndpointCatalog:
    """Model catalog of one endpoint."""

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
        """The error of the last attempt to fetch the list, if it failed."""
        self._listing = anyio.Lock()

    @property
    def default_id(self) -> str:
        """The configured model, else one that the endpoint lists, else the placeholder."""
        listed = self._speech.default_model([model.id for model in self._listed])
        return self._plan.model_id or listed or UNDECIDED

    def choices(self) -> Sequence[ModelChoice]:
        """Return the listed models; the default comes first if the list lacks it."""
        choices = [
            ModelChoice(model.id, model.name)
            for model in self._listed
            if self._speech.is_offered(model.id)
        ]
        if all(choice.id != self.default_id for choice in choices):
            choices.insert(0, ModelChoice(self.default_id, _name(self.default_id)))
        return choices

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return the thought levels of a model's family."""
        return thought_levels(self.family(model_id))

    def default_thought_level(self, model_id: str) -> str | None:
        """Return the default thought level of a model's family."""
        return default_thought_level(self.family(model_id))

    def model(self, model_id: str) -> Model:
        """Return an adapter for a model; it signs in on its first request."""
        return DeferredModel(self, model_id)

    def meter(self, model_id: str) -> FamilyMeter:
        """Return the meter (context window, token estimate, price) of a model."""
        return FamilyMeter(self.family(model_id))

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return a model's context window from the configuration, the endpoint or a table."""
        return self._speech.known_window_tokens(model_id, self._listed_model(model_id))

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the endpoint's list has changed."""
        self._listeners.append(listener)

    async def refresh(self) -> None:
        """Fetch the endpoint's list once; concurrent callers wait for the same fetch."""
        async with self._listing:  # without the lock each concurrent caller would fetch the list
            if not self._is_listed:
                await self._list()

    async def settle(self) -> None:
        """Fetch the list if only the endpoint knows the default model."""
        if self.default_id == UNDECIDED:
            await self.refresh()

    async def learn_of(self, model_id: str) -> None:
        """Fetch the list if it lacks a model: a cached list may be older than the model."""
        if all(choice.id != model_id for choice in self.choices()):
            await self.refresh()

    async def listed(self) -> tuple[ListedModel, ...]:
        """Fetch the endpoint's list now, store it in the cache file and return it.

        Raises:
            TurnError: The list could not be fetched.
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
            logger.info("could not list the endpoint's models: %s", error.reason)

    async def adapter(self, model_id: str) -> Model:
        """Sign in, load the API client and return the adapter that sends requests to a model.

        Raises:
            CredentialsMissingError: There are no credentials.
            ModelUnavailableError: No model is chosen and the endpoint lists no known one.
            ModelFailedError: No model is chosen and fetching the endpoint's list failed.
        """
        access, sdk = await self._access(), await self._loader.load()
        if model_id == UNDECIDED:
            await self.settle()
            model_id = self.default_id
        if model_id == UNDECIDED:
            raise _why_undecided(self._list_problem)
        return sdk.model(access, model_id, self.family(model_id), self._plan.retry)

    def family(self, model_id: str) -> ModelFamily:
        """Return a model's family, corrected by the endpoint's own data about the model."""
        family = self._speech.family(model_id, self._listed_model(model_id))
        # Every family that thinks also has the provider's web search.
        searches = self._plan.searches_web and family.thinking != "none"
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
    """Model that signs in and loads its API client on its first request."""

    def __init__(self, catalog: EndpointCatalog, model_id: str) -> None:
        self._catalog = catalog
        self._model_id = model_id

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Stream one answer; see `turn.ports.Model`.

        Raises:
            TurnError: Signing in, loading or the request failed.
        """
        adapter = await self._catalog.adapter(self._model_id)
        return await adapter.respond(request, receive)


def _why_undecided(problem: TurnError | None) -> TurnError:
    """Return the error for a missing default model.

    A missing list is normal for many endpoints, so only other failures are reported as such.
    """
    if isinstance(problem, ModelFailedError) and problem.kind not in LISTLESS_KINDS:
        return problem
    named = f" ({problem.reason})" if problem is not None else ""
    return ModelUnavailableError(
        f"choose a model: the endpoint lists no model that acp-server knows{named}"
    )


def _name(model_id: str) -> str:
    return "Default" if model_id == UNDECIDED else model_id
