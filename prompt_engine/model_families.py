"""Tool-use guidance by model family, matched by substrings of the model id.

Owns the family names that guidance needs. Context windows, prices and requests are elsewhere.
"""

from typing import Literal

from prompt_engine.facts import ToolUseEnforcement

ENFORCED_FAMILIES = ("gpt", "codex", "gemini", "gemma", "grok", "glm", "qwen", "deepseek")
"""Families that tend to announce actions instead of taking them."""

GuidanceStyle = Literal["google", "openai"]

_GUIDANCE_STYLES: tuple[tuple[str, GuidanceStyle], ...] = (
    ("gemini", "google"),
    ("gemma", "google"),
    ("gpt", "openai"),
    ("codex", "openai"),
    ("grok", "openai"),
)


def needs_enforcement(model: str, setting: ToolUseEnforcement) -> bool:
    """Return whether to instruct the model to act rather than announce.

    >>> needs_enforcement("openai/GPT-5", "auto"), needs_enforcement("claude-opus-5", "auto")
    (True, False)
    >>> needs_enforcement("claude-opus-5", ("opus",))
    True
    """
    if isinstance(setting, bool):
        return setting
    name = model.lower()
    parts = ENFORCED_FAMILIES if setting == "auto" else setting
    return any(part.lower() in name for part in parts if part)


def guidance_style(model: str) -> GuidanceStyle | None:
    """Return the guidance style for a model, None if its family has no guidance of its own.

    >>> guidance_style("google/gemini-3-pro"), guidance_style("glm-5")
    ('google', None)
    """
    name = model.lower()
    return next((style for part, style in _GUIDANCE_STYLES if part in name), None)
