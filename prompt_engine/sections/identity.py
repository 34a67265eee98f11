"""Agent identity: the user's SOUL.md, the caller's own text, or the built-in identity."""

from collections.abc import Iterator

from prompt_engine.facts import Facts, Identity, Passage
from prompt_engine.section import Section, section_of
from prompt_engine.sections.text_files import prose

HEADING = "## SOUL.md"
SKIPPED = "context files are disabled for this agent"


def write(facts: Facts) -> Iterator[Section]:
    """Yield the identity, preceded by a report on a SOUL.md that cannot be used as one."""
    identity = facts.identity
    if identity.own.strip():
        yield Section("identity", "stable", identity.own)
        return
    soul = _wanted(identity)
    yield section_of("soul", "stable", soul)
    if not soul.text.strip():
        yield Section("identity", "stable", prose("identity"))


def write_behind_project(facts: Facts) -> Iterator[Section]:
    """Yield SOUL.md as an instruction if the caller supplies an identity of its own."""
    if facts.identity.own.strip():
        soul = _wanted(facts.identity)
        text = soul.text.strip()
        yield section_of("soul", "context", soul, f"{HEADING}\n\n{text}" if text else "")


def _wanted(identity: Identity) -> Passage:
    if identity.skips_context_files and not identity.loads_soul:
        return Passage("", identity.soul.source or "SOUL.md", "dropped", SKIPPED)
    if identity.soul.fate == "blocked":  # drop any replacement text from the reader
        return Passage("", identity.soul.source, "blocked", identity.soul.reason)
    return identity.soul
