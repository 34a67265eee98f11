"""Tool-use guidance by model family, matched by substrings of the model id.

Owns the family names that guidance needs. Context windows, prices and requests are elsewhere.
"""

from typing import Literal

from prompt_engine.facts import Enforcement

ENFORCED = ("gpt", "codex", "gemini", "gemma", "grok", "glm", "qwen", "deepseek")
"""Families that tend to announce actions instead of taking them."""

Manner = Literal["google", "openai"]

_MANNERS: tuple[tuple[str, Manner], ...] = (
    ("gemini", "google"),
    ("gemma", "google"),
    ("gpt", "openai"),
    ("codex", "openai"),
    ("grok", "openai"),
)


def needs_enforcement(model: str, setting: Enforcement) -> bool:
    """Return whether to instruct the model to act rather than announce.

    >>> needs_enforcement("openai/GPT-5", "auto"), needs_enforcement("claude-opus-5", "auto")
    (True, False)
    >>> needs_enforcement("claude-opus-5", ("opus",))
    True
    """
    if isinstance(setting, bool):
        return setting
    name = model.lower()
    parts = ENFORCED if setting == "auto" else setting
    return any(part.lower() in name for part in parts if part)


def manner_of(model: str) -> Manner | None:
    """Return the guidance style for a model, None if its family has no guidance of its own.

    >>> manner_of("google/gemini-3-pro"), manner_of("glm-5")
    ('google', None)
    """
    name = model.lower()
    return next((manner for part, manner in _MANNERS if part in name), None)
