"""Context window and system role by model id.

Small table for any provider. Each row gives the smallest window of a family, because too high a
value makes requests fail; a caller that knows the exact window passes it in. Sources: the vendors'
lists of models, as quoted by third parties in 2026.
"""

from dataclasses import dataclass
from typing import Literal

ASSUMED_WINDOW_TOKENS = 200_000
"""Used for a model that is not in the table."""

SystemRole = Literal["system", "developer"]


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """Context window: prompt and answer together."""

    tokens: int
    is_assumed: bool = False
    """Whether this is a guess; a guess raises no limit."""


_TOKENS: tuple[tuple[str, int], ...] = (  # first substring match wins, so longer names come first
    ("claude", 200_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-5", 400_000),
    ("codex", 200_000),
    ("gemini", 1_048_576),
    ("gemma-3", 131_072),
    ("grok-4-fast", 2_000_000),
    ("grok-4", 256_000),
    ("grok-code", 256_000),
    ("grok-3", 131_072),
    ("glm-4.6", 200_000),
    ("glm-4.5", 131_072),
    ("qwen3-coder", 262_144),
    ("deepseek", 128_000),
)

_DEVELOPER = ("gpt-5", "codex")


def context_window(model: str, known_tokens: int | None = None) -> ContextWindow:
    """Return a model's window: the caller's value, else the table's, else an assumed one.

    >>> context_window("openai/gpt-5-mini")
    ContextWindow(tokens=400000, is_assumed=False)
    >>> context_window("house-model")
    ContextWindow(tokens=200000, is_assumed=True)
    """
    if known_tokens is not None:
        return ContextWindow(known_tokens)
    name = model.lower()
    found = next((tokens for part, tokens in _TOKENS if part in name), None)
    return (
        ContextWindow(ASSUMED_WINDOW_TOKENS, is_assumed=True)
        if found is None
        else ContextWindow(found)
    )


def system_role(model: str) -> SystemRole:
    """Return the role of the system message, for APIs that distinguish `system` and `developer`."""
    name = model.lower()
    return "developer" if any(part in name for part in _DEVELOPER) else "system"
