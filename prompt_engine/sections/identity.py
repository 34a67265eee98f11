"""Agent identity: the user's SOUL.md, the caller's own text, or the built-in identity."""

from collections.abc import Iterator

from prompt_engine.facts import AgentIdentity, PromptFacts, SourcedText
from prompt_engine.section import PromptSection, section_from
from prompt_engine.sections.text_files import load_text

SOUL_HEADING = "## SOUL.md"
SKIPPED_REASON = "context files are disabled for this agent"


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the identity, preceded by a report on a SOUL.md that cannot be used as one."""
    identity = facts.identity
    if identity.custom_text.strip():
        yield PromptSection("identity", "stable", identity.custom_text)
        return
    soul = _effective_soul(identity)
    yield section_from("soul", "stable", soul)
    if not soul.text.strip():
        yield PromptSection("identity", "stable", load_text("identity"))


def write_soul_after_project(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield SOUL.md as an instruction if the caller supplies an identity of its own."""
    if facts.identity.custom_text.strip():
        soul = _effective_soul(facts.identity)
        text = soul.text.strip()
        yield section_from("soul", "context", soul, f"{SOUL_HEADING}\n\n{text}" if text else "")


def _effective_soul(identity: AgentIdentity) -> SourcedText:
    if identity.skips_context_files and not identity.loads_soul:
        return SourcedText("", identity.soul.source or "SOUL.md", "dropped", SKIPPED_REASON)
    if identity.soul.fate == "blocked":  # drop any replacement text from the reader
        return SourcedText("", identity.soul.source, "blocked", identity.soul.reason)
    return identity.soul
