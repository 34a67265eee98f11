"""Instruction to act rather than announce, for models that need it, plus family guidance."""

from collections.abc import Iterator

from prompt_engine.facts import Facts
from prompt_engine.model_families import manner_of, needs_enforcement
from prompt_engine.section import Section
from prompt_engine.sections.text_files import prose


def write(facts: Facts) -> Iterator[Section]:
    """Yield the instruction and the family's guidance; nothing without tools."""
    if not facts.tools or not needs_enforcement(facts.model, facts.enforcement):
        return
    yield Section("enforcement", "stable", prose("enforcement"))
    if manner := manner_of(facts.model):
        yield Section("enforcement_family", "stable", prose(f"enforcement_{manner}"))
