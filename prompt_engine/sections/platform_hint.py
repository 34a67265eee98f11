"""What the surface shows that the agent writes to: a registry of hints, and how settings alter it.

The hints lie in `text/platforms/NAME.md`. Where files can be sent, one more line says how.
"""

from collections.abc import Iterator

from prompt_engine.facts import Facts, HintOverride
from prompt_engine.section import JOINT, Section
from prompt_engine.sections.prose import prose

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
    """Return the hint of a platform, empty for one that the registry does not know.

    >>> hint("cli")
    'You write to a terminal: plain text, no Markdown. Name files by their paths.'
    """
    if platform not in PLATFORMS:
        return ""
    text = prose(f"platforms/{platform}")
    return f"{text} {prose('attachment')}" if platform in WITH_FILES else text


def write(facts: Facts) -> Iterator[Section]:
    """Yield the hint of the platform as the settings want it."""
    override = facts.hint_overrides.get(facts.platform, HintOverride())
    parts = (override.replace.strip() or hint(facts.platform), override.append.strip())
    source = f"platform_hints.{facts.platform}" if override != HintOverride() else ""
    text = JOINT.join(part for part in parts if part)
    if text:
        yield Section("platform_hint", "stable", text, source)
    elif facts.platform:
        reason = f"there is no hint for {facts.platform}"
        yield Section("platform_hint", "stable", "", source, "absent", reason)
