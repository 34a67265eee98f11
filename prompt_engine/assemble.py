"""Assembles the system prompt from its facts, in three tiers: stable, context, volatile.

Owns the order of the sections and the separator between them. Reads no files; the wording is in
`sections`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from prompt_engine.facts import Facts
from prompt_engine.report import Report, report_on
from prompt_engine.section import Section, Tier, joined
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

Write = Callable[[Facts], Iterable[Section]]

ORDER: Final[tuple[Write, ...]] = (
    identity.write,
    guidance.write,
    enforcement.write,
    skills_index.write,
    environment.write,
    platform_hint.write,
    # context
    system_message.write,
    project_context.write,
    identity.write_behind_project,
    workspace.write,
    # volatile
    memory.write,
    external_memory.write,
    day_and_model.write,
)
"""Section writers in prompt order. Tiers are contiguous: a prompt cache matches prefixes only."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """System prompt in its tiers, with a report on its sections. Send `text`."""

    stable: str
    context: str
    volatile: str
    report: Report = field(repr=False)

    @property
    def text(self) -> str:
        """Non-empty tiers in order, separated by a blank line."""
        return joined(self.stable, self.context, self.volatile)


def build(facts: Facts) -> Prompt:
    r"""Build the prompt. Deterministic: equal facts give identical bytes.

    >>> from datetime import date
    >>> build(Facts(day=date(2026, 11, 21), model="claude-opus-5")).volatile
    'Today is Saturday, November 21, 2026.\n\nThe model is claude-opus-5.'
    """
    return _prompt(section for write in ORDER for section in write(facts))


def _prompt(sections: Iterable[Section]) -> Prompt:
    """Join the sections that have text; also report those that lost theirs."""
    stripped = [replace(section, text=section.text.strip()) for section in sections]
    told = [section for section in stripped if section.text or section.fate != "kept"]
    return Prompt(
        _tier(told, "stable"), _tier(told, "context"), _tier(told, "volatile"), report_on(told)
    )


def _tier(sections: Iterable[Section], tier: Tier) -> str:
    return joined(*(section.text for section in sections if section.tier == tier))
