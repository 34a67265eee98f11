"""Which providers are configured, each with its address and the credentials that go there.

A key is sent only to the endpoint it belongs to: a key from an environment variable to its
provider's own hosts or to the address that the provider's own variable names, `model.api_key` and
the key that `model.key_env` names to the address configured with them, a stored key to the address
it was stored for, and what Hermes keeps to the provider's own hosts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Literal
from urllib.parse import urlsplit

from pydantic import SecretStr

from acp_server.config.credentials import (
    Credential,
    CredentialProvider,
    KeyStore,
    account_name,
)
from acp_server.config.hermes_auth import HermesAuth
from acp_server.config.named_providers import NamedProvider, find_named, normalize_name
from acp_server.config.settings import Configuration
from acp_server.config.table import Settings, setting_fields, setting_sources
from acp_server.config.values import FallbackEndpoint
from acp_server.models.provider_profiles import (
    ANTHROPIC,
    API_MODES,
    CUSTOM,
    PROFILES,
    ApiFormat,
    ProviderProfile,
    find_profile,
)
from acp_server.server.config_mapping import configured_credential
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.redaction import redact_secrets

AUTO_PROVIDER_NAMES = ("", "auto")
ANTHROPIC_BASE_URL = "https://api.anthropic.com"
CLASSIC_GITHUB_TOKEN = "ghp_"  # noqa: S105  how a secret begins, not a secret
"""Copilot refuses tokens of this kind."""
_ENDPOINT_PATHS = ("/chat/completions", "/responses", "/models")
"""Endpoint paths that users paste along with the base URL."""
_FORMATS_BY_HOST: Mapping[str, ApiFormat] = {
    "api.openai.com": "responses",
    "api.x.ai": "responses",
    "api.anthropic.com": "messages",
}
WITHHELD = (
    "{variable} is not sent to {host}, which is not an address of {title}. If you trust it with "
    "that key, set `model.key_env: {variable}` in HERMES_HOME/acp/config.yaml"
)

OTHER_KEY_STORED = (
    "the stored key is for {own} and is not sent to {host}; run `{command}` to store one for it"
)


@frozen_dataclass
class ConfiguredProvider:
    """A configured provider: its address and the credentials that may be sent there."""

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
    hermes: HermesAuth | None = None
    """Where Hermes keeps further credentials that may be sent to this address."""
    windows: Mapping[str, int] = field(default_factory=dict[str, int])
    """Configured context windows of single models."""
    named_models: tuple[str, ...] = ()
    """Models that the configuration lists, also if the endpoint does not."""
    own_store: KeyStore | None = None
    """The key that is stored for the provider's own address, if `store` is for another one."""
    withheld_variable: str = ""
    """The variable with a key that is not sent, because the address is not the provider's own."""

    @property
    def address(self) -> str:
        """The base URL, for display."""
        return self.base_url or ANTHROPIC_BASE_URL

    @property
    def note(self) -> str:
        """What the user must know about the credentials; empty if nothing."""
        if not self.withheld_variable:
            return ""
        return WITHHELD.format(
            variable=self.withheld_variable, host=url_host(self.base_url), title=self.profile.title
        )

    def explain_missing_key(self) -> str:
        """Return that a key is stored, but for another address; "" if none is. Blocks."""
        if self.own_store is None or self.own_store.load() is None:
            return ""
        own_host = url_host(self.profile.base_url)
        command = "acp-server setup"
        if self.profile.name != ANTHROPIC.name:
            command = f"{command} --provider {self.profile.name}"
        return OTHER_KEY_STORED.format(
            own=own_host, host=redact_secrets(url_host(self.base_url)), command=command
        )

    def credentials(self) -> CredentialProvider:
        """Return the credentials, which are read when they are needed."""
        hermes = self.hermes
        if hermes is None:
            return CredentialProvider(self.credential, self.store)
        return CredentialProvider(self.credential, self.store, lambda: hermes.read().valid)


def configured_providers(configuration: Configuration) -> Sequence[ConfiguredProvider] | None:
    """Return all providers, the main one first; None if the main provider is unknown."""
    first = _main_provider(configuration)
    if first is None:
        return None
    others = (
        _configure(profile, configuration)
        for profile in _additional_profiles(configuration, first.profile)
    )
    named = (
        _configure_named(key, each, configuration)
        for key, each in configuration.settings.all_named_providers.items()
        if normalize_name(key) != first.profile.name
    )
    return [first, *others, *named]


def provider_by_name(name: str, configuration: Configuration) -> ConfiguredProvider:
    """Return a provider by name, at its default address; an unknown name is a custom endpoint."""
    return _configure(find_profile(name) or CUSTOM, configuration)


def configured_fallbacks(current: Settings) -> tuple[str | FallbackEndpoint, ...]:
    """Return the models to fall back to."""
    of_hermes = dict.fromkeys((*current.fallback_providers, *current.fallback_model))
    return current.fallbacks or tuple(of_hermes)


def normalize_base_url(base_url: str, api_format: str) -> str:
    """Normalize a base URL: drop a pasted endpoint path, add `/v1` if there is no path."""
    url = base_url.strip().rstrip("/")
    for path in _ENDPOINT_PATHS:
        url = url.removesuffix(path)
    if api_format == "messages":
        return url.removesuffix("/v1")  # the SDK adds it
    if not urlsplit(url).path.strip("/"):
        url = f"{url}/v1"
    return url


def url_host(url: str | None) -> str:
    """Return host and port of a base URL, of Anthropic's by default."""
    return urlsplit(url or ANTHROPIC_BASE_URL).netloc


# The main provider.


def _main_provider(configuration: Configuration) -> ConfiguredProvider | None:
    current = configuration.settings
    named = find_named(current.provider, current.all_named_providers)
    if named is not None and not current.model_base_url:
        return _configure_named(*named, configuration, is_main=True)
    profile = main_profile(configuration)
    return None if profile is None else _configure(profile, configuration, is_main=True)


def main_profile(configuration: Configuration) -> ProviderProfile | None:
    """Return the main provider that the settings name or imply, with their overrides applied."""
    current = configuration.settings
    found = ANTHROPIC
    if current.provider not in AUTO_PROVIDER_NAMES:
        found = find_profile(current.provider) or (CUSTOM if current.model_base_url else None)
    elif current.model_base_url:
        found = CUSTOM
    elif current.model and not _has_anthropic_credential(current):
        found = _profile_with_key_for(current.model, current)
    if found is None or not (
        found is ANTHROPIC
        or found.extra
        or _default_address(found, configuration)
        or current.model_base_url
    ):
        return None
    api_format = found.format_for(current.model or "")
    if found is CUSTOM:
        api_format = _format_of_address(current.model_base_url) or api_format
    if not found.formats_by_model:
        api_format = API_MODES.get(current.api_mode, api_format)
    endpoint_profile = replace(
        found.endpoint_profile,
        max_output_tokens=current.max_output_tokens or found.endpoint_profile.max_output_tokens,
    )
    return _with_format(replace(found, endpoint_profile=endpoint_profile), api_format)


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
    names += [
        each.partition(":")[0] for each in configured_fallbacks(current) if isinstance(each, str)
    ]
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
            yield _with_format(profile, profile.api_format)


def _format_of_address(base_url: str | None) -> ApiFormat | None:
    """Return the API format that an address implies, as in Hermes; None if it implies none."""
    parts = urlsplit(base_url or "")
    path = parts.path.rstrip("/")
    if path.endswith(("/anthropic", "/anthropic/v1")):
        return "messages"
    return _FORMATS_BY_HOST.get(parts.netloc)


def _with_format(profile: ProviderProfile, api_format: ApiFormat) -> ProviderProfile:
    openai_format: Literal["chat", "responses"] = (
        "responses" if api_format == "responses" else "chat"
    )
    endpoint_profile = replace(profile.endpoint_profile, api_format=openai_format)
    return replace(profile, api_format=api_format, endpoint_profile=endpoint_profile)


# Address and credentials of each.


def _default_address(profile: ProviderProfile, configuration: Configuration) -> str | None:
    """Return the provider's own address, or the one that its own variable names."""
    if profile.name == ANTHROPIC.name:
        return configuration.settings.base_url
    named = configuration.provider_addresses.get(profile.address_variable, "")
    return normalize_base_url(named, profile.api_format) if named else profile.base_url


def _configure(
    profile: ProviderProfile, configuration: Configuration, *, is_main: bool = False
) -> ConfiguredProvider:
    current = configuration.settings
    own_key = _own_credential(profile, configuration)
    default = _default_address(profile, configuration)
    if default is not None and default == profile.base_url and own_key is not None:
        for form in profile.key_forms:
            if (own_key.api_key or "").startswith(form.prefix):
                default = form.base_url
                profile = _with_format(profile, form.api_format)
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
    elif default is not None and profile.api_format == "messages":
        base_url = normalize_base_url(default, "messages")
    # Compared by host: another path on the provider's own host may still get its key.
    is_custom_host = base_url not in (None, default) and not _is_own_host(
        profile, url_host(base_url), url_host(default)
    )
    credential = _main_credential(configuration) if is_main else None
    withheld = ""
    if credential is None and is_custom_host and own_key is not None:
        withheld = _own_variable(profile, current)
    if credential is None and not is_custom_host:
        credential = own_key
    return ConfiguredProvider(
        profile,
        base_url,
        credential,
        _key_store(profile, base_url, configuration),
        needs_key=not profile.extra
        and (profile.api_format == "messages" or (profile.needs_key and not is_custom_host)),
        is_main=is_main,
        model_id=current.model if is_main else None,
        window_tokens=current.context_length if is_main else None,
        hermes=None
        if is_custom_host or profile is CUSTOM
        else HermesAuth(configuration.home, profile.auth_names or (profile.name,)),
        own_store=_own_key_store(profile, base_url, configuration),
        withheld_variable=withheld,
    )


def _key_store(
    profile: ProviderProfile, base_url: str | None, configuration: Configuration
) -> KeyStore:
    """Return the store of the key for this address.

    Security: an address that a variable or a setting names is not the provider's own. The key
    that was stored for the provider's own address does not follow such a change.
    """
    host = "" if _is_vendor_address(profile, base_url) else url_host(base_url)
    return KeyStore(configuration.home, account=account_name(profile.name, host))


def _own_key_store(
    profile: ProviderProfile, base_url: str | None, configuration: Configuration
) -> KeyStore | None:
    """Return the store of the key for the provider's own address, if this is another one."""
    has_own = profile.base_url is not None or profile.name == ANTHROPIC.name
    if not has_own or _is_vendor_address(profile, base_url):
        return None
    return KeyStore(configuration.home, account=account_name(profile.name))


def _is_vendor_address(profile: ProviderProfile, base_url: str | None) -> bool:
    """Return whether an address is one of the provider itself, whatever the settings say."""
    if base_url is None:
        return True
    own = profile.base_url
    if own is None and profile.name == ANTHROPIC.name:
        own = ANTHROPIC_BASE_URL
    hosts = {url_host(each.base_url) for each in profile.key_forms}
    return url_host(base_url) in hosts or _is_own_host(
        profile, url_host(base_url), url_host(own) if own else ""
    )


def _configure_named(
    key: str, named: NamedProvider, configuration: Configuration, *, is_main: bool = False
) -> ConfiguredProvider:
    """Return an endpoint that the configuration names."""
    current = configuration.settings
    api_format = API_MODES.get(named.api_mode) or _format_of_address(named.base_url) or "chat"
    name = normalize_name(key)
    profile = replace(
        CUSTOM,
        name=name,
        title=named.name or key,
        key_variables=(named.key_env,) if named.key_env else (),
        headers=tuple(
            (header, value.get_secret_value()) for header, value in named.extra_headers.items()
        ),
    )
    if is_main and current.max_output_tokens:
        limited = replace(profile.endpoint_profile, max_output_tokens=current.max_output_tokens)
        profile = replace(profile, endpoint_profile=limited)
    source = named.key_env or f"the endpoint {key!r}"
    secret = named.api_key.get_secret_value() if named.api_key else ""
    model = (current.model if is_main else None) or named.model or None
    window = current.context_length if is_main else None
    return ConfiguredProvider(
        _with_format(profile, api_format),
        normalize_base_url(named.base_url, api_format),
        Credential(source, api_key=secret) if secret else None,
        KeyStore(configuration.home, account=account_name("custom", named.host)),
        needs_key=False,
        is_main=is_main,
        model_id=model,
        window_tokens=window or named.context_length,
        hermes=HermesAuth(configuration.home, (f"custom:{name}",)),
        windows={
            model_id: each.context_length
            for model_id, each in named.models.items()
            if each.context_length
        },
        named_models=tuple(named.models),
    )


def configure_fallback(
    fallback: FallbackEndpoint, configuration: Configuration
) -> ConfiguredProvider | None:
    """Return the provider of a fallback model with settings of its own; None without an address."""
    named = find_named(fallback.provider, configuration.settings.all_named_providers)
    if named is not None and not fallback.base_url:
        plain = _configure_named(*named, configuration)
        return replace(plain, model_id=fallback.model)
    profile = find_profile(fallback.provider) or CUSTOM
    api_format = API_MODES.get(fallback.api_mode, profile.format_for(fallback.model))
    plain = _configure(_with_format(profile, api_format), configuration)
    base_url = plain.base_url
    if fallback.base_url:
        base_url = normalize_base_url(fallback.base_url, api_format)
    if base_url is None and profile.name != ANTHROPIC.name:
        return None
    is_own_host = url_host(base_url) != url_host(plain.base_url)
    # Security: the provider's usual key goes to its usual host only.
    credential, store, hermes = plain.credential, plain.store, plain.hermes
    if is_own_host:
        credential, store = None, _key_store(profile, base_url, configuration)
        hermes = None
    if fallback.api_key is not None:
        source = fallback.key_env or "the fallback's settings"
        credential = Credential(source, api_key=fallback.api_key.get_secret_value())
    elif fallback.key_env:
        credential = None
    variables = (fallback.key_env,) if fallback.key_env else profile.key_variables
    return replace(
        plain,
        profile=replace(plain.profile, key_variables=variables),
        base_url=base_url,
        credential=credential,
        store=store,
        own_store=_own_key_store(profile, base_url, configuration),
        hermes=hermes,
        needs_key=plain.needs_key and not (is_own_host and api_format != "messages"),
        model_id=fallback.model,
        window_tokens=fallback.context_length,
    )


def _main_credential(configuration: Configuration) -> Credential | None:
    """Return the key that the settings name for the main provider's address."""
    secret = configuration.settings.model_api_key
    key = secret.get_secret_value().strip() if secret is not None else ""
    return Credential(configuration.origins["model_api_key"], api_key=key) if key else None


def _own_credential(profile: ProviderProfile, configuration: Configuration) -> Credential | None:
    """Return the configured key of a provider, which goes to the provider's own address."""
    current, origins = configuration.settings, configuration.origins
    if profile.name == ANTHROPIC.name:
        return configured_credential(configuration)
    name = _key_setting_name(profile, current)
    if name is not None:
        return Credential(origins[name], api_key=_secret_value(current, name))
    for variable in profile.shared_variables:
        token = configuration.shared_tokens.get(variable, "")
        if token and not token.startswith(CLASSIC_GITHUB_TOKEN):
            return Credential(variable, api_key=token)
    return None


def _own_variable(profile: ProviderProfile, current: Settings) -> str:
    """Return the variable with a provider's key, for display; empty if there is none."""
    if profile.name == ANTHROPIC.name:
        return profile.key_variables[0]
    name = _key_setting_name(profile, current)
    return setting_sources()[name].variable if name else ""


def _is_own_host(profile: ProviderProfile, host: str, default_host: str) -> bool:
    """Return whether a host is one of the provider; a host in the table may begin with a dot."""
    own = (default_host, *profile.hosts)
    return any(host == each or (each.startswith(".") and host.endswith(each)) for each in own)


def _has_anthropic_credential(current: Settings) -> bool:
    return any((current.api_key, current.auth_token, current.token, current.claude_code_token))


def _key_setting_name(profile: ProviderProfile, current: Settings) -> str | None:
    """Return the name of the setting with a provider's key; None if no key is set."""
    if profile.name == ANTHROPIC.name:
        return None
    names = {source.variable: name for name, source in setting_sources().items()}
    setting_names = (names[variable] for variable in profile.key_variables if variable in names)
    return next((name for name in setting_names if _secret_value(current, name)), None)


def _secret_value(current: Settings, name: str) -> str | None:
    value = setting_fields()[name].value(current)
    return value.get_secret_value() if isinstance(value, SecretStr) else None
