"""Hints about the output surface (platform), and their overrides from settings.

The hints are in `text/platforms/NAME.md`; for platforms that can send files, another line says how.
"""

from collections.abc import Iterator

from prompt_engine.facts import HintOverride, PromptFacts
from prompt_engine.section import SECTION_SEPARATOR, PromptSection
from prompt_engine.sections.text_files import load_text

PLATFORMS_WITHOUT_FILES = ("acp", "ci", "cli", "cron", "sms", "task")
PLATFORMS_WITH_FILES = (
    "bluebubbles",
    "discord",
    "email",
    "qqbot",
    "signal",
    "slack",
    "telegram",
    "wecom",
    "weixin",
    "whatsapp",
)
PLATFORMS = frozenset({*PLATFORMS_WITHOUT_FILES, *PLATFORMS_WITH_FILES})


def platform_hint(platform: str) -> str:
    """Return the hint of a platform, empty for an unknown one.

    >>> platform_hint("cli")
    'You write to a terminal: plain text, no Markdown. Refer to files by their paths.'
    """
    if platform not in PLATFORMS:
        return ""
    text = load_text(f"platforms/{platform}")
    return f"{text} {load_text('attachment')}" if platform in PLATFORMS_WITH_FILES else text


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the hint of the platform, with the overrides from settings applied."""
    override = facts.hint_overrides.get(facts.platform, HintOverride())
    parts = (override.replace.strip() or platform_hint(facts.platform), override.append.strip())
    source = f"platform_hints.{facts.platform}" if override != HintOverride() else ""
    text = SECTION_SEPARATOR.join(part for part in parts if part)
    if text:
        yield PromptSection("platform_hint", "stable", text, source)
    elif facts.platform:
        reason = f"there is no hint for {facts.platform}"
        yield PromptSection("platform_hint", "stable", "", source, "absent", reason)
