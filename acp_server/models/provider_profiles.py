"""Table of known providers: base URL, API format and differences. Data only.

Any other provider works as `custom` if its base URL is configured.
Sources: the providers' own pages on OpenAI compatibility; the names match Hermes configuration.
"""

from dataclasses import field
from typing import Literal

from acp_server.models.openai_compatible.endpoint_profile import Quirks
from acp_server.startup.fast_dataclass import frozen

ApiForm = Literal["messages", "chat", "responses"]

API_MODES: dict[str, ApiForm] = {
    "anthropic_messages": "messages",
    "chat_completions": "chat",
    "codex_responses": "responses",
    "responses": "responses",
}
"""The names of the API formats in Hermes configuration."""
NOT_FOR_CHAT = (
    *("embed", "whisper", "tts", "dall-e", "-image", "image-", "realtime", "audio", "moderation"),
    *("transcribe", "sora", "veo", "imagen", "rerank", "babbage", "davinci", "aqa"),
)
"""Substrings of the ids of listed models that are not chat models."""


@frozen
class Profile:
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
    form: ApiForm = "chat"
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    needs_key: bool = True
    default_port: int | None = None
    preferred: tuple[str, ...] = ()
    quirks: Quirks = field(default_factory=Quirks)
    aliases: tuple[str, ...] = ()

    @property
    def is_local(self) -> bool:
        """Whether the provider is a server on this machine."""
        return self.default_port is not None


def _local(name: str, title: str, port: int, *aliases: str) -> Profile:
    return Profile(
        name,
        title,
        base_url=f"http://127.0.0.1:{port}/v1",
        needs_key=False,
        default_port=port,
        aliases=aliases,
    )


ANTHROPIC = Profile(
    "anthropic",
    "Anthropic",
    form="messages",
    key_variables=("ANTHROPIC_API_KEY",),
    aliases=("claude", "claude-code"),
)
CUSTOM = Profile("custom", "Another endpoint", needs_key=False)

PROFILES: tuple[Profile, ...] = (
    ANTHROPIC,
    Profile(
        # Chat completions reject tools for reasoning models, hence the Responses API.
        "openai",
        "OpenAI",
        form="responses",
        base_url="https://api.openai.com/v1",
        key_variables=("OPENAI_API_KEY",),
        preferred=("gpt-5", "gpt-4.1", "gpt-4o"),
    ),
    Profile(
        "openrouter",
        "OpenRouter",
        base_url="https://openrouter.ai/api/v1",
        key_variables=("OPENROUTER_API_KEY",),
        preferred=("anthropic/claude-opus", "anthropic/claude-sonnet", "openai/gpt-5"),
        quirks=Quirks(effort="object", marked_models=("anthropic/",)),
    ),
    _local("ollama", "Ollama", 11434),
    _local("lmstudio", "LM Studio", 1234, "lm-studio", "lm_studio"),
    _local("llamacpp", "llama.cpp", 8080, "llama.cpp", "llama-cpp", "llama_cpp", "llama-server"),
    _local("vllm", "vLLM", 8000),
    Profile(
        "gemini",
        "Gemini",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        preferred=("gemini-3-pro", "gemini-3", "gemini-2.5-pro"),
        quirks=Quirks(seals_calls=True),
        aliases=("google",),
    ),
    Profile(
        "alibaba",
        "Alibaba Cloud",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        key_variables=("DASHSCOPE_API_KEY",),
        preferred=("qwen3-coder", "qwen3"),
        quirks=Quirks(effort=None),
        aliases=("dashscope", "qwen"),
    ),
    Profile(
        "deepseek",
        "DeepSeek",
        base_url="https://api.deepseek.com/v1",
        key_variables=("DEEPSEEK_API_KEY",),
        preferred=("deepseek",),
        quirks=Quirks(effort=None, wants_reasoning=True, max_output_tokens=8_192),
    ),
    CUSTOM,
)

_BY_NAME = {name: profile for profile in PROFILES for name in (profile.name, *profile.aliases)}


def is_for_chat(model_id: str) -> bool:
    """Return whether a model id looks like a chat model."""
    name = model_id.lower()
    return not any(part in name for part in NOT_FOR_CHAT)


def profile_called(name: str) -> Profile | None:
    """Return the profile with a name or alias; `custom:SOMETHING` is `custom`."""
    plain = name.strip().lower().partition(":")[0]
    return _BY_NAME.get(plain)
