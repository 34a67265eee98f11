"""Configuration of the fake server: keys, models, features missing in older gateways."""

from dataclasses import dataclass, replace

from tests.support.messages_api.model_specs import MODEL_SPECS, ModelSpec

KEY = "test-key"
"""API key that the server accepts by default."""

VERSION = "2026-10-21"
OLD_VERSION = "2023-06-01"
VERSIONS = frozenset({VERSION, OLD_VERSION})

BINDING_BETA = "thinking-binding-controls-2026-08-01"
EAGER_BETA = "fine-grained-tool-streaming-2025-05-14"
FAST_MODE_BETA = "fast-mode-2026-02-01"
BETAS = frozenset(
    {
        "oauth-2025-04-20",  # tokens of a sign-in
        BINDING_BETA,
        EAGER_BETA,
        FAST_MODE_BETA,
        "context-1m-2025-08-07",
        "effort-2025-11-24",
        "extended-cache-ttl-2025-04-11",
        "interleaved-thinking-2025-05-14",
        "prompt-caching-2024-07-31",
        "token-counting-2024-11-01",
    }
)


@dataclass(frozen=True, slots=True)
class MessagesServerConfig:
    """Behaviour of a server apart from its script."""

    keys: frozenset[str] = frozenset({KEY})
    model_specs: tuple[ModelSpec, ...] = MODEL_SPECS
    takes_eager_input_streaming: bool = True
    """Whether tools may have this field; old gateways refuse it as an extra input."""
    takes_cache_control: bool = True
    """Whether blocks may have this field; some gateways refuse it as an extra input."""
    checks_prefixes: bool = True
    """Whether models that bind thinking refuse a changed history. The API does so for accounts
    created since August 31, 2026, and for all accounts on the newest models."""
    takes_leading_assistant: bool = False
    """Whether the first message may be an assistant message. The API has been observed to accept
    it, although its documentation says otherwise."""
    counts_tool_runs_once: bool = False
    """Whether the cache look-back counts consecutive tool uses, or consecutive results, as one
    block. Anthropic's endpoint does so since September 2026, the cloud providers do not."""
    knows_fast_mode: bool = True
    """Whether requests may have `speed`; gateways refuse it as an extra input."""
    lists_models: bool = True
    """Whether `GET /v1/models` exists; many gateways lack it."""
    lists_capabilities: bool = False
    """Whether the list says what each model can do, as the API's does. The server ignores it, and
    its SDK builds 25 objects for it per model, which took a seventh of a short session's time."""
    body_limit_bytes: int = 32 * 1024 * 1024
    context_window: int | None = None
    """Context window of every model, with tokens counted as `support/token_count.py` says. Prompt
    and `max_tokens` together must fit. None for the windows of the model specs, which only the
    prompt must fit, with tokens of four bytes."""

    @property
    def served_specs(self) -> tuple[ModelSpec, ...]:
        """The models with the configured window."""
        window = self.context_window
        if window is None:
            return self.model_specs
        return tuple(replace(spec, window_tokens=window) for spec in self.model_specs)
