"""The providers that are known by name: where they are, what they speak, how they differ. Data.

A name that is not here is a provider all the same if its base URL is configured: `custom`.
Sources: the providers' own pages on OpenAI compatibility; the names are those of a Hermes home.
"""

from dataclasses import field
from typing import Literal

from acp_server.frozen import frozen
from acp_server.models.openai_compatible.quirks import Quirks

ApiForm = Literal["messages", "chat", "responses"]

API_MODES: dict[str, ApiForm] = {
    "anthropic_messages": "messages",
    "chat_completions": "chat",
    "codex_responses": "responses",
    "responses": "responses",
}
"""The names of the forms in a Hermes home."""
NOT_FOR_CHAT = (
    *("embed", "whisper", "tts", "dall-e", "-image", "image-", "realtime", "audio", "moderation"),
    *("transcribe", "sora", "veo", "imagen", "rerank", "babbage", "davinci", "aqa"),
)
"""Parts of the ids of models that do not talk, among those that an endpoint lists."""


@frozen
class Profile:
    """A provider.

    Attributes:
        name: what the configuration calls it.
        title: what a person calls it.
        form: what it speaks, unless the configuration says otherwise.
        base_url: where it is; None for the SDK's own, or for nowhere yet.
        key_variables: the environment variables that may hold its key, the first that is set.
        needs_key: whether it answers nobody without one.
        default_port: where it listens on this machine; None for what does not run here.
        preferred: parts of the ids of models to begin with, best first.
        quirks: how it differs from others of its form.
        aliases: what else it is called.
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
        """Whether it is a server on this machine."""
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
        # Chat completions refuse tools from models that reason, so the newer form.
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
    """Whether a model that an endpoint lists is one to talk to, by its id."""
    name = model_id.lower()
    return not any(part in name for part in NOT_FOR_CHAT)


def profile_called(name: str) -> Profile | None:
    """Return the profile of a name; `custom:SOMETHING` is `custom`."""
    plain = name.strip().lower().partition(":")[0]
    return _BY_NAME.get(plain)
