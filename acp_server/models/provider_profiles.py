"""Table of known providers: base URL, API format and differences. Data only.

Any other provider works as `custom` if its base URL is configured.
Sources: the providers' own pages on OpenAI compatibility; the names match Hermes configuration.
"""

from dataclasses import field
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
class ProviderProfile:
    """A known provider.

    Attributes:
        name: Its name in the configuration.
        title: Its display name.
        api_format: Its API format, unless the configuration overrides it.
        base_url: Its address; None for the SDK's default or if it must be configured.
        key_variables: Environment variables for its API key; the first that is set is used.
        needs_key: Whether it rejects requests without a key.
        default_port: The port of a server on this machine; None for a remote provider.
        preferred_ids: Substrings of the ids of preferred default models, best first.
        endpoint_profile: How it differs from other endpoints of its API format.
        aliases: Other names in the configuration.
    """

    name: str
    title: str
    api_format: ApiFormat = "chat"
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    default_port: int | None = None
    preferred_ids: tuple[str, ...] = ()
    endpoint_profile: EndpointProfile = field(default_factory=EndpointProfile)
    aliases: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether the provider is a server on this machine."""
        return self.default_port is not None


def _local_provider(name: str, title: str, port: int, *aliases: str) -> ProviderProfile:
    return ProviderProfile(
        name,
        title,
        base_url=f"http://127.0.0.1:{port}/v1",
        needs_key=False,
        default_port=port,
        aliases=aliases,
    )


ANTHROPIC = ProviderProfile(
    "anthropic",
    "Anthropic",
    api_format="messages",
    key_variables=("ANTHROPIC_API_KEY",),
    aliases=("claude", "claude-code"),
)
CUSTOM = ProviderProfile("custom", "Another endpoint", needs_key=False)

PROFILES: tuple[ProviderProfile, ...] = (
    ANTHROPIC,
    ProviderProfile(
        # Chat completions reject tools for reasoning models, hence the Responses API.
        "openai",
        "OpenAI",
        api_format="responses",
        base_url="https://api.openai.com/v1",
        key_variables=("OPENAI_API_KEY",),
        preferred_ids=("gpt-5", "gpt-4.1", "gpt-4o"),
    ),
    ProviderProfile(
        "openrouter",
        "OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key_variables=("OPENROUTER_API_KEY",),
        preferred_ids=("anthropic/claude-opus", "anthropic/claude-sonnet", "openai/gpt-5"),
        endpoint_profile=EndpointProfile(effort="object", cache_marked_models=("anthropic/",)),
    ),
    _local_provider("ollama", "Ollama", 11434),
    _local_provider("lmstudio", "LM Studio", 1234, "lm-studio", "lm_studio"),
    _local_provider(
        "llamacpp", "llama.cpp", 8080, "llama.cpp", "llama-cpp", "llama_cpp", "llama-server"
    ),
    _local_provider("vllm", "vLLM", 8000),
    ProviderProfile(
        "gemini",
        "Gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        preferred_ids=("gemini-3-pro", "gemini-3", "gemini-2.5-pro"),
        endpoint_profile=EndpointProfile(signs_calls=True),
        aliases=("google",),
    ),
    ProviderProfile(
        "alibaba",
        "Alibaba Cloud",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variables=("DASHSCOPE_API_KEY",),
        preferred_ids=("qwen3-coder", "qwen3"),
        endpoint_profile=EndpointProfile(effort=None),
        aliases=("dashscope", "qwen"),
    ),
    ProviderProfile(
        "deepseek",
        "DeepSeek",
        base_url="https://api.deepseek.com/v1",
        key_variables=("DEEPSEEK_API_KEY",),
        preferred_ids=("deepseek",),
        endpoint_profile=EndpointProfile(
            effort=None, requires_reasoning=True, max_output_tokens=8_192
        ),
    ),
    CUSTOM,
)

_BY_NAME = {name: profile for profile in PROFILES for name in (profile.name, *profile.aliases)}


def is_chat_model(model_id: str) -> bool:
    """Return whether a model id looks like a chat model."""
    name = model_id.lower()
    return not any(part in name for part in NON_CHAT_ID_PARTS)


def find_profile(name: str) -> ProviderProfile | None:
    """Return the profile with a name or alias; `custom:SOMETHING` is `custom`."""
    plain = name.strip().lower().partition(":")[0]
    return _BY_NAME.get(plain)
