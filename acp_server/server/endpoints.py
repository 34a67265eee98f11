"""Builds the model catalogs of all configured providers, with their credentials.

Part of the composition root: it knows the settings and the adapters. Each API key is sent only to
the endpoint it belongs to: a key from an environment variable to its provider's own address,
`model.api_key` to the address configured with it, a stored key to the address it was stored for.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, cast
from urllib.parse import urlsplit

from pydantic import SecretStr

from acp_server.config.credentials import Credential, Credentials, KeyStore, account_for
from acp_server.config.settings import Configuration
from acp_server.config.table import Settings, sources
from acp_server.models.access import Access
from acp_server.models.aggregate_catalog import JoinedCatalog
from acp_server.models.endpoint_catalog import EndpointCatalog, Plan
from acp_server.models.fixed_catalog import foreign_catalog, scripted_catalog
from acp_server.models.lazy_imports import SdkLoader, messages_loader, openai_compatible_loader
from acp_server.models.model_facts import Facts
from acp_server.models.provider_adapter import Speech
from acp_server.models.provider_profiles import (
    ANTHROPIC,
    API_MODES,
    CUSTOM,
    PROFILES,
    Profile,
    profile_called,
)
from acp_server.models.retry_policy import RetryPolicy
from acp_server.server.config_mapping import configured_credential
from acp_server.session.ports.model_catalog import ModelCatalog
from acp_server.startup.fast_dataclass import frozen
from prompt_engine.cache_control import mark
from prompt_engine.context_windows import system_role, window_of

UNDECIDED_PROVIDERS = ("", "auto")
VENDOR = "https://api.anthropic.com"
_WHOLE_PATHS = ("/chat/completions", "/responses", "/models")
"""Endpoint paths that users paste along with the base URL."""


@frozen
class Provider:
    """A configured provider: its address and the credential that may be sent there."""

    profile: Profile
    base_url: str | None
    configured: Credential | None
    store: KeyStore
    needs_key: bool
    is_first: bool
    """Whether this is the main provider, to which the `model.*` settings apply."""

    @property
    def address(self) -> str:
        """The base URL, for display."""
        return self.base_url or VENDOR


@frozen
class ModelRoom:
    """All available models, with the credentials and SDK loaders of their providers."""

    catalog: ModelCatalog
    credentials: Sequence[Credentials]
    """One per provider, the main provider's first."""
    loaders: Sequence[SdkLoader]
    sign_in_hint: str | None = None
    """How to get a key; None for the default hint (Anthropic)."""
    needs_key: bool = True
    endpoints: Sequence[tuple[Provider, EndpointCatalog]] = ()

    async def sign_in(self) -> bool:
        """Undo a logout; return whether the main provider can be used."""
        found = [await credentials.sign_in() for credentials in self.credentials]
        return found[0] or not self.needs_key

    async def sign_out(self) -> None:
        """Delete every stored key; ignore configured ones for the rest of this process."""
        for credentials in self.credentials:
            await credentials.sign_out()

    async def close(self) -> None:
        """Close all connections to providers."""
        for loader in self.loaders:
            await loader.close()


def open_models(configuration: Configuration) -> ModelRoom:
    """Return the models of all configured providers. Imports no SDK and sends no request."""
    current = configuration.settings
    scripted = scripted_catalog(current.model or "")
    providers = configured_providers(configuration)
    if scripted is not None or providers is None:
        origin = configuration.origins["provider"]
        catalog = scripted or foreign_catalog(current.provider, origin, current.model)
        store = KeyStore(configuration.home)
        credentials = Credentials(configured_credential(configuration), store)
        return ModelRoom(cast("ModelCatalog", catalog), [credentials], [])
    opened = [_opened(provider, configuration) for provider in providers]
    (first, catalog, _, _), *others = opened
    named = {provider.profile.name: each for provider, each, _, _ in others}
    return ModelRoom(
        catalog=JoinedCatalog(catalog, named) if named else catalog,
        credentials=[credentials for _, _, credentials, _ in opened],
        loaders=[loader for _, _, _, loader in opened],
        sign_in_hint=None if first.profile is ANTHROPIC else speech_of(first, current).sign_in,
        needs_key=first.needs_key,
        endpoints=[(provider, each) for provider, each, _, _ in opened],
    )


def configured_providers(configuration: Configuration) -> Sequence[Provider] | None:
    """Return all providers, the main one first; None if the main provider is unknown."""
    first = first_profile(configuration.settings)
    if first is None:
        return None
    others = (_provider(profile, configuration) for profile in _others(configuration, first))
    return [_provider(first, configuration, is_first=True), *others]


def provider_called(name: str, configuration: Configuration) -> Provider:
    """Return a provider by name, at its default address; an unknown name is a custom endpoint."""
    return _provider(profile_called(name) or CUSTOM, configuration)


def first_profile(current: Settings) -> Profile | None:
    """Return the main provider that the settings name or imply, with their overrides applied."""
    found = ANTHROPIC
    if current.provider not in UNDECIDED_PROVIDERS:
        found = profile_called(current.provider) or (CUSTOM if current.model_base_url else None)
    elif current.model_base_url:
        found = CUSTOM
    elif current.model and not _has_claude_key(current):
        found = _provider_with_a_key_for(current.model, current)
    if found is None or (found is CUSTOM and not current.model_base_url):
        return None
    form = API_MODES.get(current.api_mode, found.form)
    quirks = replace(
        found.quirks,
        form="responses" if form == "responses" else "chat",
        max_output_tokens=current.max_output_tokens or found.quirks.max_output_tokens,
    )
    return replace(found, form=form, quirks=quirks)


def _provider_with_a_key_for(model_id: str, current: Settings) -> Profile:
    """Return the provider of a model configured without one, if it has a key; else Anthropic."""
    for profile in PROFILES:
        is_its = any(part in model_id for part in profile.preferred)
        is_its = is_its or (profile.name == "openrouter" and "/" in model_id)
        if is_its and _key_of(profile, current) is not None:
            return profile
    return ANTHROPIC


def _others(configuration: Configuration, first: Profile) -> Iterator[Profile]:
    """Yield the additional providers: those in `model.others` and those with a key."""
    current = configuration.settings
    named = {found.name for name in current.other_providers if (found := profile_called(name))}
    for profile in PROFILES:
        has_key = _key_of(profile, current) is not None
        if profile is ANTHROPIC:
            has_key = _has_claude_key(current)
        if (
            profile.name != first.name
            and profile is not CUSTOM
            and (has_key or profile.name in named)
        ):
            yield replace(profile, quirks=replace(profile.quirks, form=_quirk_form(profile)))


def _quirk_form(profile: Profile) -> Literal["chat", "responses"]:
    return "responses" if profile.form == "responses" else "chat"


def _provider(
    profile: Profile, configuration: Configuration, *, is_first: bool = False
) -> Provider:
    current = configuration.settings
    usual = current.base_url if profile.name == ANTHROPIC.name else profile.base_url
    base_url = usual
    # `anthropic.base_url` is more specific than `model.base_url` for the Messages API.
    if (
        is_first
        and current.model_base_url
        and not (profile.form == "messages" and current.base_url)
    ):
        base_url = without_path(current.model_base_url, profile.form)
    # Compared by host: another path on the provider's own host may still get its key.
    is_elsewhere = base_url is not None and base_url != usual and _host(base_url) != _host(usual)
    account = account_for(profile.name, _host(base_url) if is_elsewhere else "")
    return Provider(
        profile,
        base_url,
        _credential(profile, configuration, is_first=is_first, is_elsewhere=is_elsewhere),
        KeyStore(configuration.home, account=account),
        needs_key=profile.form == "messages" or (profile.needs_key and not is_elsewhere),
        is_first=is_first,
    )


def _credential(
    profile: Profile, configuration: Configuration, *, is_first: bool, is_elsewhere: bool
) -> Credential | None:
    """Return the configured key of a provider, unless its address is not the provider's own."""
    current, origins = configuration.settings, configuration.origins
    if is_first and current.model_api_key is not None:
        key = current.model_api_key.get_secret_value()
        if key:
            return Credential(origins["model_api_key"], api_key=key)
    if is_elsewhere:  # never send a provider's key to a custom `model.base_url`
        return None
    if profile.name == ANTHROPIC.name:
        return configured_credential(configuration)
    name = _key_of(profile, current)
    if name is None:
        return None
    return Credential(origins[name], api_key=_secret(current, name))


def _has_claude_key(current: Settings) -> bool:
    return current.api_key is not None or current.auth_token is not None


def _key_of(profile: Profile, current: Settings) -> str | None:
    """Return the name of the setting with a provider's key; None if no key is set."""
    if profile.name == ANTHROPIC.name:
        return None
    names = {source.variable: name for name, source in sources().items()}
    held = (names[variable] for variable in profile.key_variables)
    return next((name for name in held if _secret(current, name)), None)


def _secret(current: Settings, name: str) -> str | None:
    value: object = getattr(current, name)
    return value.get_secret_value() if isinstance(value, SecretStr) else None


def without_path(base_url: str, form: str) -> str:
    """Normalize a base URL: drop a pasted endpoint path, add `/v1` if there is no path."""
    url = base_url.strip().rstrip("/")
    for path in _WHOLE_PATHS:
        url = url.removesuffix(path)
    if form != "messages" and not urlsplit(url).path.strip("/"):
        url = f"{url}/v1"
    return url


def _host(url: str | None) -> str:
    return urlsplit(url or VENDOR).netloc


# Opening.

_Opened = tuple[Provider, EndpointCatalog, Credentials, SdkLoader]


def _opened(provider: Provider, configuration: Configuration) -> _Opened:
    current = configuration.settings
    plan = Plan(
        access=Access(
            provider.base_url,
            idle_seconds=current.idle_seconds,
            connect_seconds=current.connect_seconds,
        ),
        model_id=current.model if provider.is_first else None,
        retry=RetryPolicy(attempts=current.retries),
        list_file=configuration.home / "acp" / "models.json",
        searches_web=provider.profile.name == ANTHROPIC.name and current.web_search == "auto",
    )
    credentials = Credentials(provider.configured, provider.store)
    loader = _loader(provider, current)
    speech = speech_of(provider, current)
    return provider, EndpointCatalog(plan, speech, credentials.current, loader), credentials, loader


def speech_of(provider: Provider, current: Settings) -> Speech:
    """Return the provider adapter that a catalog needs."""
    is_first = provider.is_first
    facts = Facts(
        window_of=_known_window,
        configured_model=current.model if is_first else None,
        configured_window_tokens=current.context_length if is_first else None,
    )
    return Speech(provider.profile, facts, provider.needs_key)


def _known_window(model_id: str) -> int | None:
    window = window_of(model_id)
    return None if window.is_assumed else window.tokens


def _loader(provider: Provider, current: Settings) -> SdkLoader:
    if provider.profile.form == "messages":
        return messages_loader(partial(mark, ttl=current.cache_ttl))
    command = f"acp-server setup --provider {provider.profile.name}"
    hint = f"run `{command}` to store a new key"
    if provider.profile.key_variables:
        hint = f"{hint}, or set {provider.profile.key_variables[0]}"
    quirks = replace(
        provider.profile.quirks,
        sign_in_again=hint,
        system_role=system_role,
        mark=partial(mark, ttl=current.cache_ttl),
    )
    return openai_compatible_loader(quirks)
