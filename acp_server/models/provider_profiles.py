"""Known providers (`provider_profiles.json`): base URL, API format and differences.

Any other provider works as `custom` if its base URL is configured. The table is JSON because it is
read before the first session opens, when `tomllib` is not imported yet.
Sources: the providers' own pages on OpenAI compatibility; the names match Hermes configuration.
Chat completions of OpenAI reject tools for reasoning models, hence its Responses API.
"""

import json
from dataclasses import field
from pathlib import Path
from typing import Literal

from acp_server.models.openai_compatible.endpoint_profile import EndpointProfile
from acp_server.startup.fast_dataclass import frozen_dataclass

ApiFormat = Literal["messages", "chat", "responses"]

API_MODES: dict[str, ApiFormat] = {
    "anthropic_messages": "messages",
    "chat_completions": "chat",
    "codex_responses": "responses",
    "responses": "responses",
}
"""The names of the API formats in Hermes configuration."""
NON_CHAT_ID_PARTS = (
    *("embed", "whisper", "tts", "dall-e", "-image", "image-", "realtime", "audio", "moderation"),
    *("transcribe", "sora", "veo", "imagen", "rerank", "babbage", "davinci", "aqa"),
)
"""Substrings of the ids of listed models that are not chat models."""


@frozen_dataclass
class KeyForm:
    """The address and API format for keys that begin in one way."""

    prefix: str
    base_url: str
    api_format: ApiFormat


@frozen_dataclass
class ProviderProfile:
    """A known provider.

    Attributes:
        name: Its name in the configuration.
        title: Its display name.
        api_format: Its API format, unless the configuration overrides it.
        base_url: Its address; None for the SDK's default or if it must be configured.
        key_variables: Environment variables for its API key; the first that is set is used.
        needs_key: Whether it rejects requests without a key.
        is_offered_with_key: Whether its models are offered as soon as it has a key. Not if the
            key is often there for another purpose.
        headers: Further headers that it requires.
        default_port: The port of a server on this machine; None for a remote provider.
        preferred_ids: Substrings of the ids of preferred default models, best first.
        endpoint_profile: How it differs from other endpoints of its API format.
        aliases: Other names in the configuration.
        address_variable: Environment variable that replaces the address.
        hosts: Further hosts of the same provider, to which its key may be sent.
        auth_names: Its names in the auth.json of Hermes, if not its own name.
        sign_in_command: How to sign in, if that is the usual way to a credential.
        formats_by_model: API formats of models whose ids begin so, as pairs; the first one counts.
        key_forms: Addresses and API formats of keys that begin so.
        extra: The extra of this package that it needs.
        shared_variables: Variables of other programs with tokens that it accepts, too; used only
            if the provider is named.
    """

    name: str
    title: str
    api_format: ApiFormat = "chat"
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    is_offered_with_key: bool = True
    headers: tuple[tuple[str, str], ...] = ()
    default_port: int | None = None
    preferred_ids: tuple[str, ...] = ()
    endpoint_profile: EndpointProfile = field(default_factory=EndpointProfile)
    aliases: tuple[str, ...] = ()
    address_variable: str = ""
    hosts: tuple[str, ...] = ()
    auth_names: tuple[str, ...] = ()
    sign_in_command: str = ""
    formats_by_model: tuple[tuple[str, ApiFormat], ...] = ()
    key_forms: tuple["KeyForm", ...] = ()
    extra: str = ""
    shared_variables: tuple[str, ...] = ()

    def format_for(self, model_id: str) -> ApiFormat:
        """Return the API format that the provider speaks for a model."""
        plain = model_id.lower().rpartition("/")[2]
        for prefix, api_format in self.formats_by_model:
            if plain.startswith(prefix):
                return api_format
        return self.api_format

    @property
    def is_local(self) -> bool:
        """Whether the provider is a server on this machine."""
        return self.default_port is not None


_LIST_FIELDS = {
    "key_variables",
    "preferred_ids",
    "aliases",
    "hosts",
    "auth_names",
    "shared_variables",
}


def _read_profiles() -> tuple[ProviderProfile, ...]:
    """Return the providers of `provider_profiles.json`, in the order in which they are offered."""
    text = Path(__file__).with_name("provider_profiles.json").read_text("utf-8")
    profiles: list[ProviderProfile] = []
    for name, row in json.loads(text).items():
        endpoint = row.pop("endpoint_profile", {})
        for field_name in _LIST_FIELDS & row.keys():
            row[field_name] = tuple(row[field_name])
        if "cache_marked_models" in endpoint:
            endpoint["cache_marked_models"] = tuple(endpoint["cache_marked_models"])
        for mapping in ("headers", "formats_by_model"):
            row[mapping] = tuple(row.get(mapping, {}).items())
        row["key_forms"] = tuple(KeyForm(**each) for each in row.get("key_forms", ()))
        profile = EndpointProfile(**endpoint)
        profiles.append(ProviderProfile(name, endpoint_profile=profile, **row))
    return tuple(profiles)


PROFILES = _read_profiles()
_BY_NAME = {name: profile for profile in PROFILES for name in (profile.name, *profile.aliases)}
ANTHROPIC = _BY_NAME["anthropic"]
CUSTOM = _BY_NAME["custom"]


def is_chat_model(model_id: str) -> bool:
    """Return whether a model id looks like a chat model."""
    name = model_id.lower()
    return not any(part in name for part in NON_CHAT_ID_PARTS)


def provider_names() -> tuple[str, ...]:
    """Return all names of known providers, with their other names."""
    return tuple(_BY_NAME)


def find_profile(name: str) -> ProviderProfile | None:
    """Return the profile with a name or alias; `custom:SOMETHING` is `custom`."""
    plain = name.strip().lower().partition(":")[0]
    return _BY_NAME.get(plain)
