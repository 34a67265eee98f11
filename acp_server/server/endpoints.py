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

from acp_server.config.credentials import Credential, CredentialProvider, KeyStore, account_name
from acp_server.config.settings import Configuration
from acp_server.config.table import Settings, setting_fields, setting_sources
from acp_server.config.values import FallbackEndpoint
from acp_server.models.access import EndpointAccess
from acp_server.models.aggregate_catalog import AggregateCatalog
from acp_server.models.endpoint_catalog import EndpointCatalog, EndpointConfig
from acp_server.models.fixed_catalog import (
    scripted_catalog,
    unknown_provider_catalog,
    unknown_provider_reason,
)
from acp_server.models.lazy_imports import (
    ProviderEntryPoint,
    lazy_anthropic_client,
    lazy_openai_compatible_client,
)
from acp_server.models.model_facts import ModelFacts
from acp_server.models.provider_adapter import ProviderAdapter
from acp_server.models.provider_profiles import (
    ANTHROPIC,
    API_MODES,
    CUSTOM,
    PROFILES,
    ProviderProfile,
    find_profile,
)
from acp_server.models.retry_policy import RetryPolicy
from acp_server.server.config_mapping import configured_credential
from acp_server.session.ports.model_catalog import FallbackChoice, ModelCatalog
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from prompt_engine.cache_control import add_cache_breakpoints
from prompt_engine.context_windows import context_window, system_role

AUTO_PROVIDER_NAMES = ("", "auto")
ANTHROPIC_BASE_URL = "https://api.anthropic.com"
_ENDPOINT_PATHS = ("/chat/completions", "/responses", "/models")
"""Endpoint paths that users paste along with the base URL."""


@frozen_dataclass
class ConfiguredProvider:
    """A configured provider: its address and the credential that may be sent there."""

    profile: ProviderProfile
    base_url: str | None
    credential: Credential | None
    store: KeyStore
    needs_key: bool
    is_main: bool
    """Whether this is the main provider, to which the `model.*` settings apply."""
    model_id: str | None = None
    """The configured model, if it is the only one with settings."""
    window_tokens: int | None = None
    """The configured context window of that model, or of all models if none is configured."""

    @property
    def address(self) -> str:
        """The base URL, for display."""
        return self.base_url or ANTHROPIC_BASE_URL


@frozen_dataclass
class ModelService:
    """All available models, with the credentials and API clients of their providers."""

    catalog: ModelCatalog
    credentials: Sequence[CredentialProvider]
    """One per provider, the main provider's first."""
    clients: Sequence[Lazy[ProviderEntryPoint]]
    sign_in_hint: str | None = None
    """How to get a key; None for the default hint (Anthropic)."""
    needs_key: bool = True
    endpoints: Sequence[tuple[ConfiguredProvider, EndpointCatalog]] = ()
    fallbacks: tuple[FallbackChoice, ...] = ()
    """Models for when the chosen one is out of service."""
    configuration_problem: str | None = None
    """Why no prompt can be answered, to be told before the first one."""

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
        for client in self.clients:
            if client.loaded is not None:
                await client.loaded.close()


def open_models(configuration: Configuration) -> ModelService:
    """Return the models of all configured providers. Imports no SDK and sends no request."""
    current = configuration.settings
    scripted = scripted_catalog(current.model or "")
    providers = configured_providers(configuration)
    if scripted is not None or providers is None:
        origin = configuration.origins["provider"]
        catalog = scripted or unknown_provider_catalog(current.provider, origin, current.model)
        store = KeyStore(configuration.home)
        credentials = CredentialProvider(configured_credential(configuration), store)
        problem = None
        if scripted is None:
            problem = unknown_provider_reason(current.provider, origin)
        return ModelService(
            cast("ModelCatalog", catalog), [credentials], [], configuration_problem=problem
        )
    opened = [_open_provider(provider, configuration) for provider in providers]
    (first, catalog, _, _), *others = opened
    by_name = {provider.profile.name: each for provider, each, _, _ in others}
    endpoints = [(provider, each) for provider, each, _, _ in opened]
    fallbacks: list[FallbackChoice] = []
    for each in _fallbacks(current):
        if isinstance(each, str):
            # In the catalog the main provider's models have no prefix.
            fallbacks.append(FallbackChoice(each.removeprefix(f"{first.profile.name}:")))
        elif (provider := _configure_fallback(each, configuration)) is not None:
            opened.append(_open_provider(provider, configuration))
            address = _url_host(provider.base_url)
            fallbacks.append(FallbackChoice(each.model, opened[-1][1], address))
    return ModelService(
        catalog=AggregateCatalog(catalog, by_name) if by_name else catalog,
        credentials=[credentials for _, _, credentials, _ in opened],
        clients=[client for _, _, _, client in opened],
        sign_in_hint=None
        if first.profile is ANTHROPIC
        else provider_adapter(first).sign_in_message,
        needs_key=first.needs_key,
        endpoints=endpoints,
        fallbacks=tuple(fallbacks),
    )


def _fallbacks(current: Settings) -> tuple[str | FallbackEndpoint, ...]:
    of_hermes = dict.fromkeys((*current.fallback_providers, *current.fallback_model))
    return current.fallbacks or tuple(of_hermes)


def configured_providers(configuration: Configuration) -> Sequence[ConfiguredProvider] | None:
    """Return all providers, the main one first; None if the main provider is unknown."""
    first = main_profile(configuration.settings)
    if first is None:
        return None
    others = (
        _configure_provider(profile, configuration)
        for profile in _additional_profiles(configuration, first)
    )
    return [_configure_provider(first, configuration, is_main=True), *others]


def provider_by_name(name: str, configuration: Configuration) -> ConfiguredProvider:
    """Return a provider by name, at its default address; an unknown name is a custom endpoint."""
    return _configure_provider(find_profile(name) or CUSTOM, configuration)


def main_profile(current: Settings) -> ProviderProfile | None:
    """Return the main provider that the settings name or imply, with their overrides applied."""
    found = ANTHROPIC
    if current.provider not in AUTO_PROVIDER_NAMES:
        found = find_profile(current.provider) or (CUSTOM if current.model_base_url else None)
    elif current.model_base_url:
        found = CUSTOM
    elif current.model and not _has_anthropic_credential(current):
        found = _profile_with_key_for(current.model, current)
    if found is None or (
        found is not ANTHROPIC and not found.base_url and not current.model_base_url
    ):
        return None
    api_format = API_MODES.get(current.api_mode, found.api_format)
    endpoint_profile = replace(
        found.endpoint_profile,
        api_format="responses" if api_format == "responses" else "chat",
        max_output_tokens=current.max_output_tokens or found.endpoint_profile.max_output_tokens,
    )
    return replace(found, api_format=api_format, endpoint_profile=endpoint_profile)


def _profile_with_key_for(model_id: str, current: Settings) -> ProviderProfile:
    """Return the provider of a model configured without one, if it has a key; else Anthropic."""
    for profile in PROFILES:
        is_match = any(part in model_id for part in profile.preferred_ids)
        is_match = is_match or (profile.name == "openrouter" and "/" in model_id)
        if is_match and _key_setting_name(profile, current) is not None:
            return profile
    return ANTHROPIC


def _additional_profiles(
    configuration: Configuration, main: ProviderProfile
) -> Iterator[ProviderProfile]:
    """Yield the additional providers: in `model.additional_providers`, or with a key."""
    current = configuration.settings
    names = [*current.additional_providers]
    names += [each.partition(":")[0] for each in _fallbacks(current) if isinstance(each, str)]
    listed_names = {found.name for name in names if (found := find_profile(name))}
    for profile in PROFILES:
        has_key = _key_setting_name(profile, current) is not None
        has_key = has_key and profile.is_offered_with_key
        if profile is ANTHROPIC:
            has_key = _has_anthropic_credential(current)
        if (
            profile.name != main.name
            and profile is not CUSTOM
            and (has_key or profile.name in listed_names)
        ):
            yield replace(
                profile,
                endpoint_profile=replace(profile.endpoint_profile, api_format=_openai_api(profile)),
            )


def _openai_api(profile: ProviderProfile) -> Literal["chat", "responses"]:
    return "responses" if profile.api_format == "responses" else "chat"


def _configure_provider(
    profile: ProviderProfile, configuration: Configuration, *, is_main: bool = False
) -> ConfiguredProvider:
    current = configuration.settings
    default = current.base_url if profile.name == ANTHROPIC.name else profile.base_url
    base_url = default
    # `anthropic.base_url` is more specific than `model.base_url` for Anthropic.
    if (
        is_main
        and current.model_base_url
        and not (profile.name == ANTHROPIC.name and current.base_url)
    ):
        base_url = normalize_base_url(current.model_base_url, profile.api_format)
        # An address without a path may be the whole of the provider's own.
        if default and base_url == normalize_base_url(default, profile.api_format):
            base_url = default
    # Compared by host: another path on the provider's own host may still get its key.
    is_custom_host = (
        base_url is not None and base_url != default and _url_host(base_url) != _url_host(default)
    )
    account = account_name(profile.name, _url_host(base_url) if is_custom_host else "")
    return ConfiguredProvider(
        profile,
        base_url,
        _allowed_credential(profile, configuration, is_main=is_main, is_custom_host=is_custom_host),
        KeyStore(configuration.home, account=account),
        needs_key=profile.api_format == "messages" or (profile.needs_key and not is_custom_host),
        is_main=is_main,
        model_id=current.model if is_main else None,
        window_tokens=current.context_length if is_main else None,
    )


def _configure_fallback(
    fallback: FallbackEndpoint, configuration: Configuration
) -> ConfiguredProvider | None:
    """Return the provider of a fallback model with settings of its own; None without an address."""
    profile = find_profile(fallback.provider) or CUSTOM
    api_format = API_MODES.get(fallback.api_mode, profile.api_format)
    profile = replace(
        profile,
        api_format=api_format,
        endpoint_profile=replace(
            profile.endpoint_profile,
            api_format="responses" if api_format == "responses" else "chat",
        ),
    )
    plain = _configure_provider(profile, configuration)
    base_url = plain.base_url
    if fallback.base_url:
        base_url = normalize_base_url(fallback.base_url, api_format)
    if base_url is None and profile.name != ANTHROPIC.name:
        return None
    is_own_host = _url_host(base_url) != _url_host(plain.base_url)
    # Security: the provider's usual key goes to its usual host only.
    credential, store = plain.credential, plain.store
    if is_own_host:
        account = account_name(profile.name, _url_host(base_url))
        credential, store = None, KeyStore(configuration.home, account=account)
    if fallback.api_key is not None:
        source = fallback.key_env or "the fallback's settings"
        credential = Credential(source, api_key=fallback.api_key.get_secret_value())
    elif fallback.key_env:
        credential = None
    variables = (fallback.key_env,) if fallback.key_env else profile.key_variables
    return replace(
        plain,
        profile=replace(profile, key_variables=variables),
        base_url=base_url,
        credential=credential,
        store=store,
        needs_key=plain.needs_key and not (is_own_host and api_format != "messages"),
        model_id=fallback.model,
        window_tokens=fallback.context_length,
    )


def _allowed_credential(
    profile: ProviderProfile, configuration: Configuration, *, is_main: bool, is_custom_host: bool
) -> Credential | None:
    """Return the configured key of a provider, unless its address is not the provider's own."""
    current, origins = configuration.settings, configuration.origins
    if is_main and current.model_api_key is not None:
        key = current.model_api_key.get_secret_value()
        if key:
            return Credential(origins["model_api_key"], api_key=key)
    if is_custom_host:  # never send a provider's key to a custom `model.base_url`
        return None
    if profile.name == ANTHROPIC.name:
        return configured_credential(configuration)
    name = _key_setting_name(profile, current)
    if name is None:
        return None
    return Credential(origins[name], api_key=_secret_value(current, name))


def _has_anthropic_credential(current: Settings) -> bool:
    return current.api_key is not None or current.auth_token is not None


def _key_setting_name(profile: ProviderProfile, current: Settings) -> str | None:
    """Return the name of the setting with a provider's key; None if no key is set."""
    if profile.name == ANTHROPIC.name:
        return None
    names = {source.variable: name for name, source in setting_sources().items()}
    setting_names = (names[variable] for variable in profile.key_variables)
    return next((name for name in setting_names if _secret_value(current, name)), None)


def _secret_value(current: Settings, name: str) -> str | None:
    value = setting_fields()[name].value(current)
    return value.get_secret_value() if isinstance(value, SecretStr) else None


def normalize_base_url(base_url: str, api_format: str) -> str:
    """Normalize a base URL: drop a pasted endpoint path, add `/v1` if there is no path."""
    url = base_url.strip().rstrip("/")
    for path in _ENDPOINT_PATHS:
        url = url.removesuffix(path)
    if api_format != "messages" and not urlsplit(url).path.strip("/"):
        url = f"{url}/v1"
    return url


def _url_host(url: str | None) -> str:
    return urlsplit(url or ANTHROPIC_BASE_URL).netloc


# Opening.

_OpenedProvider = tuple[
    ConfiguredProvider, EndpointCatalog, CredentialProvider, Lazy[ProviderEntryPoint]
]


def _open_provider(provider: ConfiguredProvider, configuration: Configuration) -> _OpenedProvider:
    current = configuration.settings
    config = EndpointConfig(
        access=EndpointAccess(
            provider.base_url,
            read_timeout_seconds=current.read_timeout_seconds,
            connect_timeout_seconds=current.connect_timeout_seconds,
            headers=provider.profile.headers,
        ),
        model_id=provider.model_id,
        retry=RetryPolicy(max_retries=current.max_retries),
        list_file=configuration.home / "acp" / "models.json",
        searches_web=provider.profile.name == ANTHROPIC.name and current.web_search == "auto",
    )
    credentials = CredentialProvider(provider.credential, provider.store)
    client = _lazy_client(provider, current)
    api = provider_adapter(provider)
    return provider, EndpointCatalog(config, api, credentials.current, client), credentials, client


def provider_adapter(provider: ConfiguredProvider) -> ProviderAdapter:
    """Return the provider adapter that a catalog needs."""
    facts = ModelFacts(
        lookup_window=_known_window,
        configured_model=provider.model_id,
        configured_window_tokens=provider.window_tokens,
    )
    return ProviderAdapter(provider.profile, facts, provider.needs_key)


def _known_window(model_id: str) -> int | None:
    window = context_window(model_id)
    return None if window.is_assumed else window.tokens


def _lazy_client(provider: ConfiguredProvider, current: Settings) -> Lazy[ProviderEntryPoint]:
    if provider.profile.api_format == "messages":
        return lazy_anthropic_client(partial(add_cache_breakpoints, ttl=current.cache_ttl))
    command = f"acp-server setup --provider {provider.profile.name}"
    hint = f"run `{command}` to store a new key"
    if provider.profile.key_variables:
        hint = f"{hint}, or set {provider.profile.key_variables[0]}"
    endpoint_profile = replace(
        provider.profile.endpoint_profile,
        sign_in_hint=hint,
        system_role=system_role,
        cache_marker=partial(add_cache_breakpoints, ttl=current.cache_ttl),
    )
    return lazy_openai_compatible_client(endpoint_profile)
