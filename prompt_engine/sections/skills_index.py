"""The list of skills, written by whoever keeps them; shown only with a tool to load one."""

from collections.abc import Iterator

from prompt_engine.facts import Facts
from prompt_engine.section import Section, section_of

TOOLS = frozenset({"skills_list", "skill_view", "skill_manage"})


def write(facts: Facts) -> Iterator[Section]:
    """Yield the index; without any skills tool it is dropped."""
    if facts.tools & TOOLS:
        yield section_of("skills_index", "stable", facts.skills_index)
    elif facts.skills_index.text.strip():
        source = facts.skills_index.source
        yield Section("skills_index", "stable", "", source, "dropped", "no skills tool is present")
