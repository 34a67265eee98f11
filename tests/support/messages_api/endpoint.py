"""How a server behaves apart from its script: keys, models, and what an older gateway lacks."""

from dataclasses import dataclass

from tests.support.messages_api.families import FAMILIES, Family

KEY = "test-key"
"""The key that is accepted unless a test says otherwise."""

VERSION = "2026-10-21"
OLD_VERSION = "2023-06-01"
VERSIONS = frozenset({VERSION, OLD_VERSION})

BINDING_BETA = "thinking-binding-controls-2026-08-01"
EAGER_BETA = "fine-grained-tool-streaming-2025-05-14"
BETAS = frozenset(
    {
        BINDING_BETA,
        EAGER_BETA,
        "context-1m-2025-08-07",
        "effort-2025-11-24",
        "extended-cache-ttl-2025-04-11",
        "interleaved-thinking-2025-05-14",
        "prompt-caching-2024-07-31",
        "token-counting-2024-11-01",
    }
)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The settings of a server."""

    keys: frozenset[str] = frozenset({KEY})
    families: tuple[Family, ...] = FAMILIES
    takes_eager_input_streaming: bool = True
    """Whether tools may have the field; an old gateway refuses it as an extra input."""
    takes_cache_control: bool = True
    """Whether any block may have the field; some gateways refuse it as an extra input."""
    checks_prefixes: bool = True
    """Whether models that bind thinking refuse a changed history: accounts made since August 31,
    2026, and all accounts on the newest models."""
    takes_leading_assistant: bool = False
    """Whether the first message may be the assistant's. The API has been seen to take it, its
    documentation says that it does not."""
    counts_tool_runs_once: bool = False
    """Whether the cache's look-back takes a run of tool uses, or of their results, for one block.
    Anthropic's own endpoint does since September 2026, the clouds do not."""
    lists_models: bool = True
    """Whether there is `GET /v1/models`; many gateways have none."""
    body_limit_bytes: int = 32 * 1024 * 1024
