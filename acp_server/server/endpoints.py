"""Builds the model catalogs of all configured providers, with their credentials.

Part of the composition root: it knows the settings and the adapters. `server/providers.py` says
which credentials go to which address.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import cast

from acp_server.config.credentials import Credential, CredentialProvider, KeyStore
from acp_server.config.settings import Configuration
from acp_server.config.table import Settings
from acp_server.handlers.auth import SignInState
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
from acp_server.models.provider_profiles import ANTHROPIC
from acp_server.models.retry_policy import RetryPolicy
from acp_server.models.traffic import ModelTraffic
from acp_server.server.config_mapping import configured_credential
from acp_server.server.providers import (
    ConfiguredProvider,
    configure_fallback,
    configured_fallbacks,
    configured_providers,
    url_host,
)
from acp_server.server.recording import ModelRecording
from acp_server.session.ports.model_catalog import FallbackChoice, ModelCatalog
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.startup.lazy_value import Lazy
from prompt_engine.cache_control import add_cache_breakpoints
from prompt_engine.context_windows import context_window, system_role

REPLAY_CREDENTIAL = Credential("the recording", api_key="replay")
"""Stands for a key: the clients of the APIs want one."""


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
    opening_notice: str = ""
    """What the user must know before the first prompt, such as why none can be answered."""

    async def sign_in(self) -> bool:
        """Undo a logout; return whether the main provider can be used."""
        found = [await credentials.sign_in() for credentials in self.credentials]
        return found[0] or not self.needs_key

    async def sign_in_state(self) -> SignInState:
        """Return whether the main provider has a key, without asking it."""
        # A routed provider is signed in to by what the client sends.
        if not self.endpoints or self.endpoints[0][1].is_routed:
            return SignInState("not_required")
        labels: list[str] = []
        has_main_key = False
        for (provider, _), credentials in zip(self.endpoints, self.credentials, strict=False):
            if await credentials.current() is not None:
                labels.append(f"{provider.profile.title} API key")
                has_main_key = has_main_key or provider.is_main
        if has_main_key:
            return SignInState("authenticated", tuple(labels))
        return SignInState("unauthenticated" if self.needs_key else "not_required", tuple(labels))

    async def sign_out(self) -> None:
        """Delete every stored key; ignore configured ones for the rest of this process."""
        for credentials in self.credentials:
            await credentials.sign_out()

    async def close(self) -> None:
        """Close all connections to providers."""
        for client in self.clients:
            if client.loaded is not None:
                await client.loaded.close()


def open_models(
    configuration: Configuration, recording: ModelRecording | None = None
) -> ModelService:
    """Return the models of all configured providers. Imports no SDK and sends no request."""
    recording = recording or ModelRecording(configuration)
    current = configuration.settings
    scripted = scripted_catalog(current.model or "")
    providers = configured_providers(configuration)
    if scripted is not None or providers is None:
        reason = "" if scripted else _unknown_provider_reason(configuration)
        catalog = scripted or unknown_provider_catalog(reason, current.model or current.provider)
        store = KeyStore(configuration.home)
        credentials = CredentialProvider(configured_credential(configuration), store)
        return ModelService(
            cast("ModelCatalog", catalog),
            [credentials],
            [],
            needs_key=scripted is None,
            opening_notice=reason,
        )
    opened = [_open_provider(provider, configuration, recording) for provider in providers]
    (first, catalog, _, _), *others = opened
    by_name = {provider.profile.name: each for provider, each, _, _ in others}
    endpoints = [(provider, each) for provider, each, _, _ in opened]
    fallbacks: list[FallbackChoice] = []
    for each in configured_fallbacks(current):
        if isinstance(each, str):
            # In the catalog the main provider's models have no prefix.
            fallbacks.append(FallbackChoice(each.removeprefix(f"{first.profile.name}:")))
        elif (provider := configure_fallback(each, configuration)) is not None:
            opened.append(_open_provider(provider, configuration, recording))
            address = url_host(provider.base_url)
            fallbacks.append(FallbackChoice(each.model, opened[-1][1], address))
    return ModelService(
        catalog=AggregateCatalog(catalog, by_name) if by_name else catalog,
        credentials=[credentials for _, _, credentials, _ in opened],
        clients=[client for _, _, _, client in opened],
        sign_in_hint=None
        if first.profile is ANTHROPIC
        else provider_adapter(first).sign_in_message,
        needs_key=first.needs_key and not recording.is_replay,
        endpoints=endpoints,
        fallbacks=tuple(fallbacks),
        opening_notice=first.note,
    )


def _unknown_provider_reason(configuration: Configuration) -> str:
    current = configuration.settings
    return unknown_provider_reason(
        current.provider, configuration.origins["provider"], current.all_named_providers
    )


# Opening.

_OpenedProvider = tuple[
    ConfiguredProvider, EndpointCatalog, CredentialProvider, Lazy[ProviderEntryPoint]
]


def _open_provider(
    provider: ConfiguredProvider, configuration: Configuration, recording: ModelRecording
) -> _OpenedProvider:
    current = configuration.settings
    config = EndpointConfig(
        access=EndpointAccess(
            provider.base_url,
            read_timeout_seconds=current.read_timeout_seconds,
            connect_timeout_seconds=current.connect_timeout_seconds,
            headers=provider.profile.headers,
            platform=provider.profile.extra,
            platform_values=_platform_values(provider.profile.extra, configuration),
        ),
        model_id=provider.model_id,
        retry=RetryPolicy(max_retries=current.max_retries),
        list_file=configuration.home / "acp" / "models.json",
        named_models=provider.named_models,
        searches_web=provider.profile.name == ANTHROPIC.name and current.web_search == "auto",
    )
    credentials = provider.credentials()
    if recording.is_replay:  # no key is looked for, and none is needed
        credentials = CredentialProvider(REPLAY_CREDENTIAL, provider.store)
    client = _lazy_client(provider, current, config.access, recording.traffic(provider))
    api = provider_adapter(provider)
    catalog = EndpointCatalog(
        config, api, credentials.current, client, credentials, provider.explain_missing_key
    )
    return provider, catalog, credentials, client


def _platform_values(platform: str, configuration: Configuration) -> tuple[tuple[str, str], ...]:
    current = configuration.settings
    if not platform:
        return ()
    own = {"region": current.bedrock_region}
    if platform == "vertex":
        own = {"region": current.vertex_region, "project_id": current.vertex_project}
    values = {**configuration.cloud_variables, **own}
    return tuple((name, value) for name, value in values.items() if value)


def provider_adapter(provider: ConfiguredProvider) -> ProviderAdapter:
    """Return the provider adapter that a catalog needs."""
    facts = ModelFacts(
        lookup_window=lambda model_id: provider.windows.get(model_id) or _known_window(model_id),
        configured_model=provider.model_id,
        configured_window_tokens=provider.window_tokens,
    )
    return ProviderAdapter(provider.profile, facts, provider.needs_key)


def _known_window(model_id: str) -> int | None:
    window = context_window(model_id)
    return None if window.is_assumed else window.tokens


def _lazy_client(
    provider: ConfiguredProvider,
    current: Settings,
    access: EndpointAccess,
    traffic: ModelTraffic | None,
) -> Lazy[ProviderEntryPoint]:
    if provider.profile.api_format == "messages":
        return lazy_anthropic_client(
            partial(add_cache_breakpoints, ttl=current.cache_ttl),
            traffic,
            needs_authorities=access.needs_authorities,
        )
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
    return lazy_openai_compatible_client(endpoint_profile, traffic)
