"""Skill index, rendered by the skill service; shown only if a tool can load a skill."""

from collections.abc import Iterator

from prompt_engine.facts import Facts
from prompt_engine.section import Section, section_of

TOOLS = frozenset({"skills_list", "skill_view", "skill_manage"})


def write(facts: Facts) -> Iterator[Section]:
    """Yield the index; without any skill tool it is dropped."""
    if facts.tools & TOOLS:
        yield section_of("skills_index", "stable", facts.skills_index)
    elif facts.skills_index.text.strip():
        source = facts.skills_index.source
        yield Section("skills_index", "stable", "", source, "dropped", "no skills tool is present")
