"""Which models need to be told to act, and in whose manner. Goes by parts of the model's id.

Owns the names of families as guidance needs them. Knows nothing of windows, prices or requests.
"""

from typing import Literal

from prompt_engine.facts import Enforcement

ENFORCED = ("gpt", "codex", "gemini", "gemma", "grok", "glm", "qwen", "deepseek")
"""Families that like to announce what they would do instead of doing it."""

Manner = Literal["google", "openai"]

_MANNERS: tuple[tuple[str, Manner], ...] = (
    ("gemini", "google"),
    ("gemma", "google"),
    ("gpt", "openai"),
    ("codex", "openai"),
    ("grok", "openai"),
)


def needs_enforcement(model: str, setting: Enforcement) -> bool:
    """Whether a model is told to act rather than to announce.

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
    """Return whose habits are to be balanced, None for a family without guidance of its own.

    >>> manner_of("google/gemini-3-pro"), manner_of("glm-5")
    ('google', None)
    """
    name = model.lower()
    return next((manner for part, manner in _MANNERS if part in name), None)
