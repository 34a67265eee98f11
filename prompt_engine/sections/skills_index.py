"""Skill index, rendered by the skill service; shown only if a tool can load a skill."""

from collections.abc import Iterator

from prompt_engine.facts import PromptFacts
from prompt_engine.section import PromptSection, section_from

SKILL_TOOLS = frozenset({"skills_list", "skill_view", "skill_manage"})


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield the index; without any skill tool it does not apply."""
    if facts.tools & SKILL_TOOLS:
        yield section_from("skills_index", "stable", facts.skills_index)
    elif facts.skills_index.text.strip():
        source = facts.skills_index.source
        yield PromptSection(
            "skills_index", "stable", "", source, "absent", "no skills tool is present"
        )
