"""Assembles the system prompt from its facts, in three tiers: stable, context, volatile.

Owns the order of the sections and the separator between them. Reads no files; the wording is in
`sections`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from prompt_engine.facts import PromptFacts
from prompt_engine.fitting import fit_sections, prompt_character_limit
from prompt_engine.report import PromptReport, build_report
from prompt_engine.section import PromptSection, Tier, join_parts
from prompt_engine.sections import (
    day_and_model,
    enforcement,
    environment,
    external_memory,
    guidance,
    identity,
    memory,
    platform_hint,
    project_context,
    skills_index,
    system_message,
    workspace,
)

SectionWriter = Callable[[PromptFacts], Iterable[PromptSection]]

SECTION_WRITERS: Final[tuple[SectionWriter, ...]] = (
    identity.write,
    guidance.write,
    enforcement.write,
    skills_index.write,
    environment.write,
    platform_hint.write,
    # context
    system_message.write,
    project_context.write,
    identity.write_soul_after_project,
    workspace.write,
    # volatile
    memory.write,
    external_memory.write,
    day_and_model.write,
)
"""Section writers in prompt order. Tiers are contiguous: a prompt cache matches prefixes only."""


@dataclass(frozen=True, slots=True)
class AssembledPrompt:
    """System prompt in its tiers, with a report on its sections. Send `text`."""

    stable: str
    context: str
    volatile: str
    report: PromptReport = field(repr=False)

    @property
    def text(self) -> str:
        """Non-empty tiers in order, separated by a blank line."""
        return join_parts(self.stable, self.context, self.volatile)


def build_prompt(facts: PromptFacts) -> AssembledPrompt:
    r"""Build the prompt. Deterministic: equal facts give identical bytes.

    >>> from datetime import date
    >>> build_prompt(PromptFacts(day=date(2026, 11, 21), model="claude-opus-5")).volatile
    'Today is Saturday, November 21, 2026.\n\nThe model is claude-opus-5.'
    """
    sections = (section for write in SECTION_WRITERS for section in write(facts))
    stripped = [replace(section, text=section.text.strip()) for section in sections]
    # Sections with text are joined; those that lost theirs are only reported.
    reported = [section for section in stripped if section.text or section.fate != "kept"]
    reported = fit_sections(reported, prompt_character_limit(facts.window_tokens))
    return AssembledPrompt(
        _join_tier(reported, "stable"),
        _join_tier(reported, "context"),
        _join_tier(reported, "volatile"),
        build_report(reported),
    )


def _join_tier(sections: Iterable[PromptSection], tier: Tier) -> str:
    return join_parts(*(section.text for section in sections if section.tier == tier))
