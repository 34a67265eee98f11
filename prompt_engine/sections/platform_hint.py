"""Hints about the output surface (platform), and their overrides from settings.

The hints are in `text/platforms/NAME.md`; for platforms that can send files, another line says how.
"""

from collections.abc import Iterator

from prompt_engine.facts import Facts, HintOverride
from prompt_engine.section import JOINT, Section
from prompt_engine.sections.text_files import prose

WITHOUT_FILES = ("acp", "ci", "cli", "cron", "sms", "task")
WITH_FILES = (
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
PLATFORMS = frozenset({*WITHOUT_FILES, *WITH_FILES})


def hint(platform: str) -> str:
    """Return the hint of a platform, empty for an unknown one.

    >>> hint("cli")
    'You write to a terminal: plain text, no Markdown. Name files by their paths.'
    """
    if platform not in PLATFORMS:
        return ""
    text = prose(f"platforms/{platform}")
    return f"{text} {prose('attachment')}" if platform in WITH_FILES else text


def write(facts: Facts) -> Iterator[Section]:
    """Yield the hint of the platform, with the overrides from settings applied."""
    override = facts.hint_overrides.get(facts.platform, HintOverride())
    parts = (override.replace.strip() or hint(facts.platform), override.append.strip())
    source = f"platform_hints.{facts.platform}" if override != HintOverride() else ""
    text = JOINT.join(part for part in parts if part)
    if text:
        yield Section("platform_hint", "stable", text, source)
    elif facts.platform:
        reason = f"there is no hint for {facts.platform}"
        yield Section("platform_hint", "stable", "", source, "absent", reason)
