"""Instruction to act rather than announce, for models that need it, plus family guidance."""

from collections.abc import Iterator

from prompt_engine.facts import PromptFacts
from prompt_engine.model_families import guidance_style, needs_enforcement
from prompt_engine.section import PromptSection
from prompt_engine.sections.text_files import load_text


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the instruction and the family's guidance; nothing without tools."""
    if not facts.tools or not needs_enforcement(facts.model, facts.enforcement):
        return
    yield PromptSection("enforcement", "stable", load_text("enforcement"))
    if style := guidance_style(facts.model):
        yield PromptSection("enforcement_family", "stable", load_text(f"enforcement_{style}"))
