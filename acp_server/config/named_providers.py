"""Endpoints that a configuration names, as Hermes writes them.

`providers` is a mapping of names to endpoints, `custom_providers` a list of endpoints with names.
Values only: reads neither files nor the environment.
"""

from collections.abc import Mapping
from typing import Annotated, TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import (
    AliasChoices,
    BeforeValidator,
    ConfigDict,
    Field,
    PositiveInt,
)

from acp_server.config.values import ApiMode, SecretText
from acp_server.startup.late_models import LateModel

_ADDRESS_KEYS = ("base_url", "url", "api", "baseUrl")
_FIELD_KEYS = {
    "key_env": ("key_env", "api_key_env", "keyEnv", "apiKeyEnv"),
    "api_key": ("api_key", "apiKey"),
    "api_mode": ("api_mode", "transport", "apiMode"),
    "model": ("model", "default_model", "defaultModel"),
    "context_length": ("context_length", "contextLength"),
}
"""Names of each value in the order of precedence."""
PROVIDER_KEYS = frozenset(
    {
        *("name", "provider", "provider_key", "models", "extra_headers", "enabled"),
        *_ADDRESS_KEYS,
        *(key for keys in _FIELD_KEYS.values() for key in keys),
    }
)
"""All keys of an entry that have an effect, or that only repeat what is known."""


def _names(name: str) -> AliasChoices:
    return AliasChoices(*_FIELD_KEYS[name])


def _as_models(value: object) -> object:
    """Return models as a mapping of ids to their values; a list may have ids or `{id: ...}`."""
    if not isinstance(value, list | tuple):
        return value or {}
    found: dict[str, object] = {}
    for each in cast("list[object]", value):
        entry = cast("Mapping[str, object]", each) if isinstance(each, Mapping) else {"id": each}
        if name := entry.get("id") or entry.get("name"):
            found[str(name)] = entry
    return found


def _as_known_mode(value: object) -> object:
    """Return the name of an API, or nothing for one that Hermes chooses by itself."""
    modes = ("chat_completions", "codex_responses", "responses", "anthropic_messages")
    word = str(value or "").strip().lower()
    return word if word in modes else ""


class NamedModel(LateModel):
    """What a configuration says of one model of an endpoint. Unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    context_length: PositiveInt | None = None


class NamedProvider(LateModel):
    """An endpoint with a name. Unknown keys are ignored."""

    model_config = ConfigDict(frozen=True)

    base_url: Annotated[
        str,
        Field(min_length=1, validation_alias=AliasChoices(*_ADDRESS_KEYS), description="Address"),
    ]
    name: Annotated[str, Field(description="Display name")] = ""
    key_env: Annotated[
        str,
        Field(
            validation_alias=_names("key_env"),
            description="The environment variable with its API key",
        ),
    ] = ""
    api_key: Annotated[SecretText | None, Field(validation_alias=_names("api_key"))] = None
    api_mode: Annotated[
        Annotated[ApiMode, Field(validation_alias=_names("api_mode"))],
        BeforeValidator(_as_known_mode, json_schema_input_type=ApiMode),
    ] = ""
    model: Annotated[
        str, Field(validation_alias=_names("model"), description="Its default model")
    ] = ""
    models: Annotated[
        Mapping[str, NamedModel],
        BeforeValidator(_as_models),
        Field(description="Its models, each perhaps with a `context_length`"),
    ] = {}
    context_length: Annotated[
        PositiveInt | None, Field(validation_alias=_names("context_length"))
    ] = None
    extra_headers: Annotated[
        Mapping[str, SecretText], Field(description="Further headers of each request")
    ] = {}
    enabled: bool = True

    @property
    def host(self) -> str:
        """Host and port of the address."""
        return urlsplit(self.base_url).netloc


def _with_addresses(value: object) -> object:
    """Return the endpoints that have an address, by name; Hermes ignores the others."""
    if not isinstance(value, Mapping):
        return value or {}
    entries = cast("Mapping[str, object]", value)
    return {str(name): each for name, each in entries.items() if _has_address(each)}


def _by_name(value: object) -> object:
    """Return a list of endpoints by their names."""
    if not isinstance(value, list | tuple):
        return value or {}
    entries = (
        cast("Mapping[str, object]", each)
        for each in cast("list[object]", value)
        if isinstance(each, Mapping)
    )
    return _with_addresses({str(each.get("name") or ""): each for each in entries})


def _has_address(entry: object) -> bool:
    if not isinstance(entry, Mapping):
        return True  # a mistake, to be reported
    return any(cast("Mapping[str, object]", entry).get(key) for key in _ADDRESS_KEYS)


NamedProviders: TypeAlias = Annotated[Mapping[str, NamedProvider], BeforeValidator(_with_addresses)]
"""Endpoints by name; those without an address are left out."""
ListedProviders: TypeAlias = Annotated[
    Mapping[str, NamedProvider],
    BeforeValidator(_by_name, json_schema_input_type=tuple[NamedProvider, ...]),
]
"""The same, written as a list whose entries have a `name`."""


def normalize_name(name: str) -> str:
    """Return the name by which a configuration refers to an endpoint.

    >>> normalize_name("custom:My LLM")
    'my-llm'
    """
    return name.strip().lower().removeprefix("custom:").replace(" ", "-")


def find_named(
    name: str, providers: Mapping[str, NamedProvider]
) -> tuple[str, NamedProvider] | None:
    """Return an endpoint with its key by its key or display name; None if none has it."""
    wanted = normalize_name(name)
    for key, provider in providers.items():
        if wanted and wanted in (normalize_name(key), normalize_name(provider.name)):
            return key, provider
    return None
