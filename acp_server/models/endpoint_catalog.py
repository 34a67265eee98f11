"""Model catalog of one endpoint, independent of the API format that the endpoint speaks.

Lazy: no SDK is imported, no credential is read and no request is sent before a prompt needs it.
"""

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

import anyio
from anyio import to_thread

from acp_server.config.credentials import Credential
from acp_server.models.access import EndpointAccess, ListedModel
from acp_server.models.families import (
    ModelFamily,
    default_thought_level,
    describe_fast_mode,
    description,
    thought_levels,
)
from acp_server.models.lazy_imports import ProviderEntryPoint
from acp_server.models.meters import FamilyMeter
from acp_server.models.model_list_cache import load_model_list, save_model_list
from acp_server.models.provider_adapter import ANTHROPIC_HOST, ProviderAdapter
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.usage_counts import clamp_usage
from acp_server.models.written_calls import WrittenCallModel
from acp_server.session.ports.model_catalog import ModelChoice
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.errors import (
    ContextOverflowError,
    CredentialsMissingError,
    ModelFailedError,
    ModelUnavailableError,
    TurnError,
)
from acp_server.turn.ports import (
    FastModeStopped,
    Model,
    ModelEvent,
    ModelRequest,
    ModelStop,
    ReceiveEvent,
    Retrying,
    UsageReported,
)

logger = logging.getLogger(__name__)

RETRIES_BEFORE_NEXT_KEY = 1
"""How often a request is retried with one key of several."""
UNDECIDED_MODEL_ID = "default"
"""Placeholder id of the default model until the endpoint's list is known."""
MIN_WINDOW_TOKENS = 1_000
"""No agent can work in less; a smaller number in an error is something else."""
DISABLED = "the editor has disabled this provider; choose a model of another one"
NO_MESSAGES_KEY = "none"
"""Sent if a client gives no key: without one, the SDK looks for keys in the environment."""
CLIENT_UNUSABLE = (
    "a package that this model needs cannot be imported ({error}); install acp-server again, or "
    "choose a model of another provider"
)
NO_LIST_FAILURE_KINDS = ("request", "unknown", "other")
"""Failure kinds of an endpoint that only lacks a model list.

Any other kind (authentication, connection, ...) is a problem of the endpoint itself.
"""


class CredentialPool(Protocol):
    """Credentials that take each other's place."""

    @property
    def has_spare(self) -> bool:
        """Whether another credential can take the place of the current one."""
        ...

    async def set_aside(self, credential: Credential, seconds: float) -> bool:
        """Do not use a credential for some time; return whether another one takes its place."""
        ...


SET_ASIDE_SECONDS: Mapping[str, float] = {
    "authentication": 300.0,
    "permission": 3_600.0,
    "rate_limit": 3_600.0,
}
"""How long a credential is not used after a failure, by the kind of the failure."""


@frozen_dataclass
class EndpointConfig:
    """Configuration of one endpoint and its catalog."""

    access: EndpointAccess
    """Has no API key yet: the key is looked up when the endpoint is first used."""
    model_id: str | None
    retry: RetryPolicy
    list_file: Path
    """Cache file of the endpoint's model list, so that the next start knows the models."""
    named_models: tuple[str, ...] = ()
    """Models to offer even if the endpoint does not list them."""
    searches_web: bool = False
    """Whether to offer the provider's own web search on models that have it."""


class EndpointCatalog:
    """Model catalog of one endpoint."""

    def __init__(
        self,
        config: EndpointConfig,
        provider: ProviderAdapter,
        credentials: Callable[[], Awaitable[Credential | None]],
        client: Lazy[ProviderEntryPoint],
        pool: CredentialPool | None = None,
        explain_missing_key: Callable[[], str] = str,
    ) -> None:
        """Prepare; `explain_missing_key` says why a stored key is not used, and may block."""
        self._explain_missing_key = explain_missing_key
        self._pool = pool
        self._config = config
        self._provider = provider
        self._credentials = credentials
        self._client = client
        self._models = load_model_list(config.list_file, config.access.base_url)
        self._choices: Sequence[ModelChoice] | None = None
        self._listeners: list[Callable[[], None]] = []
        self._has_list = False
        self._list_error: TurnError | None = None
        """The error of the last attempt to fetch the list, if it failed."""
        self._list_lock = anyio.Lock()
        self._is_routed = False
        """Whether the client chose the address: then it gives what signs in, too."""
        self._is_disabled = False
        self._learned_windows: dict[str, int] = {}
        """Context windows that the endpoint named in errors, by model id."""
        self._models_without_fast_mode: set[str] = set()
        """Models whose fast mode the endpoint refused for good."""

    @property
    def base_url(self) -> str | None:
        """The address of the endpoint; None for the vendor's own."""
        return self._config.access.base_url

    @property
    def is_routed(self) -> bool:
        """Whether the client chose the address."""
        return self._is_routed

    @property
    def is_disabled(self) -> bool:
        """Whether the client has disabled the endpoint."""
        return self._is_disabled

    def set_route(self, base_url: str, headers: Mapping[str, str]) -> None:
        """Send all further requests to this address, with these headers and no other key."""
        routed = replace(
            self._config.access, base_url=base_url, api_key=None, auth_token=None, headers=()
        )
        if self._provider.profile.api_format == "messages":
            routed = _with_messages_key(routed, headers)
        else:
            routed = replace(routed, headers=tuple(headers.items()))
        self._config = replace(self._config, access=routed)
        self._is_routed, self._is_disabled = True, False
        self._models, self._has_list = (), False
        self._notify_changed()

    def disable(self) -> None:
        """Send no more requests, and offer no models."""
        self._is_disabled = True
        self._notify_changed()

    def _notify_changed(self) -> None:
        self._choices = None
        for listener in self._listeners:
            listener()

    @property
    def default_id(self) -> str:
        """The configured model, else one that the endpoint lists, else the placeholder.

        Until the list is known, the models that the provider is known to have stand for it.
        """
        if self._config.model_id:
            return self._config.model_id
        listed_id = self._provider.choose_default_model([model.id for model in self._models])
        named = next(iter(self._config.named_models), None)
        known_id = self._provider.choose_default_model([model.id for model in self._offered])
        return listed_id or named or known_id or UNDECIDED_MODEL_ID

    def choices(self) -> Sequence[ModelChoice]:
        """Return the listed models; the default comes first if the list lacks it."""
        if self._choices is None:  # every look at the session's model asks for them
            self._choices = self._list_choices()
        return self._choices

    def _list_choices(self) -> Sequence[ModelChoice]:
        if self._is_disabled:
            return ()
        choices = [
            ModelChoice(model.id, model.name, description(self.family(model.id)))
            for model in self._offered
            if self._provider.is_selectable(model.id)
        ]
        listed = {choice.id for choice in choices}
        choices += [
            ModelChoice(each, each, description(self.family(each)))
            for each in self._config.named_models
            if each not in listed
        ]
        default_id = self.default_id
        if all(choice.id != default_id for choice in choices):
            is_decided = default_id != UNDECIDED_MODEL_ID
            name = default_id if is_decided else "Default"
            about = description(self.family(default_id)) if is_decided else ""
            choices.insert(0, ModelChoice(default_id, name, about))
        return choices

    @property
    def has_list(self) -> bool:
        """Whether the endpoint's own list is known, at least from an earlier session."""
        return bool(self._models)

    def thought_levels(self, model_id: str) -> Sequence[str]:
        """Return the thought levels of a model's family."""
        return thought_levels(self.family(model_id))

    def default_thought_level(self, model_id: str) -> str | None:
        """Return the default thought level of a model's family."""
        return default_thought_level(self.family(model_id))

    def describe_fast_mode(self, model_id: str) -> str | None:
        """Return what fast mode of a model gives and costs; None if it has none here."""
        return describe_fast_mode(self.family(model_id))

    def model(self, model_id: str) -> Model:
        """Return an adapter for a model; it signs in on its first request."""
        model = DeferredModel(self, model_id)
        return model if self._is_anthropics_own else WrittenCallModel(model)

    def meter(self, model_id: str) -> FamilyMeter:
        """Return the meter (context window, token estimate, price) of a model."""
        return FamilyMeter(self.family(model_id))

    def known_window_tokens(self, model_id: str) -> int | None:
        """Return a model's context window from the configuration, the endpoint or a table."""
        return self._provider.known_window_tokens(model_id, self._listed_model(model_id))

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call `listener` whenever the endpoint's list has changed."""
        self._listeners.append(listener)

    async def refresh(self) -> None:
        """Fetch the endpoint's list once; concurrent callers wait for the same fetch."""
        async with self._list_lock:  # without the lock each concurrent caller would fetch the list
            if not self._has_list:
                self._list_error = None
                try:
                    await self.fetch_models()
                except TurnError as error:
                    self._list_error = error
                    logger.info("could not list the endpoint's models: %s", error.reason)

    async def resolve_default(self) -> None:
        """Fetch the list if only the endpoint can tell which model is there."""
        config = self._config
        if config.model_id is None and not self._models and not config.named_models:
            await self.refresh()

    async def load_models_of(self, model_id: str) -> None:
        """Fetch the list if it lacks a model: a cached list may be older than the model."""
        if all(choice.id != model_id for choice in self.choices()):
            await self.refresh()

    async def fetch_models(self) -> tuple[ListedModel, ...]:
        """Fetch the endpoint's list now, store it in the cache file and return it.

        Raises:
            TurnError: The list could not be fetched.
        """
        access = await self._access_with(await self._credentials())
        entry_point = await self._load_client()
        models = await entry_point.list_models(access)
        self._has_list = True
        if models != self._models:
            self._models = models
            self._notify_changed()
        if self._is_routed:  # what the client sets is for this process alone
            return self._models
        await to_thread.run_sync(
            save_model_list, self._config.list_file, self._config.access.base_url, self._models
        )
        return self._models

    async def adapter(self, model_id: str) -> Model:
        """Sign in, load the API client and return the adapter that sends requests to a model.

        Raises:
            CredentialsMissingError: There are no credentials.
            ModelUnavailableError: No model is chosen and the endpoint lists no known one, or the
                API client cannot be imported.
            ModelFailedError: No model is chosen and fetching the endpoint's list failed.
        """
        return (await self.open_adapter(model_id))[0]

    async def open_adapter(self, model_id: str) -> tuple[Model, Credential | None]:
        """Do the same as `adapter`, and return the credential that the model uses, too."""
        credential = await self._credentials()
        access = await self._access_with(credential)
        entry_point = await self._load_client()
        if model_id == UNDECIDED_MODEL_ID:
            await self.resolve_default()
            model_id = self.default_id
        if model_id == UNDECIDED_MODEL_ID:
            raise _no_default_error(self._list_error)
        retry = self._config.retry
        if self._pool is not None and self._pool.has_spare:
            retry = replace(retry, max_retries=min(retry.max_retries, RETRIES_BEFORE_NEXT_KEY))
        return entry_point.model(access, model_id, self.family(model_id), retry), credential

    def family(self, model_id: str) -> ModelFamily:
        """Return a model's family, corrected by the endpoint's own data about the model."""
        if model_id == UNDECIDED_MODEL_ID:
            model_id = self.default_id
        family = self._provider.family(model_id, self._listed_model(model_id))
        window = min(
            family.context_window_tokens,
            self._learned_windows.get(model_id, family.context_window_tokens),
        )
        fast = None if model_id in self._models_without_fast_mode else family.fast
        family = replace(family, context_window_tokens=window, fast=fast)
        # Every family that thinks also has the provider's web search.
        searches = self._config.searches_web and family.thinking != "none"
        return replace(family, searches_web=True) if searches else family

    def learn_window(self, model_id: str, limit_tokens: int) -> None:
        """Remember a limit that the endpoint named when it rejected a request as too large."""
        if limit_tokens >= MIN_WINDOW_TOKENS:
            model_id = self.default_id if model_id == UNDECIDED_MODEL_ID else model_id
            self._learned_windows[model_id] = limit_tokens

    def learn_no_fast_mode(self, model_id: str) -> None:
        """Offer no fast mode of a model any more: the endpoint refused it for good."""
        model_id = self.default_id if model_id == UNDECIDED_MODEL_ID else model_id
        self._models_without_fast_mode.add(model_id)
        self._notify_changed()

    async def can_go_on_without(self, credential: Credential | None, kind: str) -> bool:
        """Set a credential aside after a failure; return whether another one takes over."""
        seconds = SET_ASIDE_SECONDS.get(kind)
        if seconds is None or credential is None or self._pool is None:
            return False
        return await self._pool.set_aside(credential, seconds)

    @property
    def _offered(self) -> tuple[ListedModel, ...]:
        return self._models or self._provider.known_models(self._config.access.base_url)

    @property
    def _is_anthropics_own(self) -> bool:
        if self._provider.profile.api_format != "messages":
            return False
        base_url = self._config.access.base_url
        return base_url is None or urlsplit(base_url).hostname == ANTHROPIC_HOST

    def _listed_model(self, model_id: str) -> ListedModel | None:
        return next((model for model in self._models if model.id == model_id), None)

    async def _load_client(self) -> ProviderEntryPoint:
        try:
            return await self._client.get()
        except Exception as error:
            # Boundary: an import runs the code of installed packages, which may raise anything.
            # The next prompt tries again, so a repaired installation needs no restart.
            logger.exception("the API client could not be imported")
            reason = (str(error).splitlines() or [""])[0]
            raise ModelUnavailableError(
                CLIENT_UNUSABLE.format(error=f"{type(error).__name__}: {reason}")
            ) from error

    async def _access_with(self, credential: Credential | None) -> EndpointAccess:
        if self._is_disabled:
            raise ModelUnavailableError(DISABLED)
        # Security: a configured key belongs to the configured address.
        if self._is_routed:
            return self._config.access
        if credential is None:
            if self._provider.needs_key:
                elsewhere = await to_thread.run_sync(self._explain_missing_key)
                raise CredentialsMissingError(elsewhere or self._provider.sign_in_message)
            return self._config.access
        return replace(
            self._config.access,
            api_key=credential.api_key,
            auth_token=credential.auth_token,
            headers=(*self._config.access.headers, *credential.headers),
        )


def _with_messages_key(access: EndpointAccess, headers: Mapping[str, str]) -> EndpointAccess:
    """Return an access to the Messages API with a client's headers.

    Security: the SDK takes a key from the environment unless it is given one.
    """
    rest: dict[str, str] = {}
    key, token = None, None
    for name, value in headers.items():
        scheme, _, secret = value.partition(" ")
        if name.lower() == "x-api-key":
            key = value
        elif name.lower() == "authorization" and scheme.lower() == "bearer":
            token = secret.strip()
        else:
            rest[name] = value
    if not key and not token:
        key = NO_MESSAGES_KEY
    return replace(access, api_key=key, auth_token=token, headers=tuple(rest.items()))


class DeferredModel:
    """Model that signs in and loads its API client on its first request."""

    def __init__(self, catalog: EndpointCatalog, model_id: str) -> None:
        self._catalog = catalog
        self._model_id = model_id
        self._fast_mode_stops = 0
        """The number of the last time that fast mode stopped of which the user was told."""

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Stream one answer; see `turn.ports.Model`.

        Raises:
            TurnError: Signing in, loading or the request failed.
        """
        has_output = False

        async def receive_noting(event: ModelEvent) -> None:
            nonlocal has_output
            if isinstance(event, FastModeStopped):
                await self._report_stop(event, receive)
                return
            has_output = has_output or not isinstance(event, Retrying)
            await receive(event)

        while True:
            adapter, credential = await self._catalog.open_adapter(self._model_id)
            try:
                return await self._respond(adapter, request, receive_noting)
            except ModelFailedError as error:
                # Content has reached the user: another try would show it twice.
                if has_output or not await self._catalog.can_go_on_without(credential, error.kind):
                    raise

    async def _report_stop(self, event: FastModeStopped, receive: ReceiveEvent) -> None:
        """Pass a stop of fast mode on once, not with each request that it concerns."""
        if event.number > self._fast_mode_stops:
            self._fast_mode_stops = event.number
            await receive(event)
        if event.is_final:
            self._catalog.learn_no_fast_mode(self._model_id)

    async def _respond(
        self, adapter: Model, request: ModelRequest, receive: ReceiveEvent
    ) -> ModelStop:
        window_tokens = self._catalog.family(self._model_id).context_window_tokens

        async def receive_clamped(event: ModelEvent) -> None:
            if isinstance(event, UsageReported):
                event = replace(event, usage=clamp_usage(event.usage, window_tokens))
            await receive(event)

        try:
            return await adapter.respond(request, receive_clamped)
        except ContextOverflowError as error:
            if error.limit_tokens is not None:
                self._catalog.learn_window(self._model_id, error.limit_tokens)
            raise


def _no_default_error(problem: TurnError | None) -> TurnError:
    """Return the error for a missing default model.

    A missing list is normal for many endpoints, so only other failures are reported as such.
    """
    if isinstance(problem, ModelFailedError) and problem.kind not in NO_LIST_FAILURE_KINDS:
        return problem
    details = f" ({problem.reason})" if problem is not None else ""
    return ModelUnavailableError(
        f"choose a model: the endpoint lists no model that acp-server knows{details}"
    )
