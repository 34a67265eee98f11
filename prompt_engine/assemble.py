"""The prompt from its facts: three tiers, from what never changes to what changes daily.

Owns the order of the sections and how they are joined. Reads nothing, and knows no wording.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from prompt_engine.facts import Facts
from prompt_engine.report import Report, report_on
from prompt_engine.section import Section, Tier, joined
from prompt_engine.sections import (
    enforcement,
    environment,
    external_memory,
    guidance,
    identity,
    memory,
    moment,
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
    moment.write,
)
"""The sections as they stand in the prompt; a tier never comes back once another has begun."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A system prompt in its tiers, and the report on it; `text` is what is sent."""

    stable: str
    context: str
    volatile: str
    report: Report = field(repr=False)

    @property
    def text(self) -> str:
        """The tiers that say anything, in order, a blank line between them."""
        return joined(self.stable, self.context, self.volatile)


def build(facts: Facts) -> Prompt:
    r"""Return the prompt; the same facts give the same bytes.

    >>> from datetime import date
    >>> build(Facts(day=date(2026, 11, 21), model="claude-opus-5")).volatile
    'Today is Saturday, November 21, 2026.\n\nThe model is claude-opus-5.'
    """
    return _prompt(section for write in ORDER for section in write(facts))


def _prompt(sections: Iterable[Section]) -> Prompt:
    """Join what has text; report that, and what lost its text on the way."""
    stripped = [replace(section, text=section.text.strip()) for section in sections]
    told = [section for section in stripped if section.text or section.fate != "kept"]
    return Prompt(
        _tier(told, "stable"), _tier(told, "context"), _tier(told, "volatile"), report_on(told)
    )


def _tier(sections: Iterable[Section], tier: Tier) -> str:
    return joined(*(section.text for section in sections if section.tier == tier))
