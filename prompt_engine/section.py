"""Section of a prompt: its text, its tier, and the outcome of its source."""

from dataclasses import dataclass
from typing import Literal

from prompt_engine.facts import Fate, SourcedText

Tier = Literal["stable", "context", "volatile"]
"""How often a section changes: never, with the workspace, or with the day."""

SECTION_SEPARATOR = "\n\n"
"""Separator between sections: one blank line."""


@dataclass(frozen=True, slots=True)
class PromptSection:
    """One section of the prompt. Without text it is only reported."""

    name: str
    tier: Tier
    text: str
    source: str = ""
    """Path or setting of its text; empty for built-in text."""
    fate: Fate = "kept"
    reason: str = ""


def section_from(
    name: str, tier: Tier, sourced_text: SourcedText, text: str | None = None
) -> PromptSection:
    """Return the section for a sourced text, with other wording if `text` is given."""
    content = sourced_text.text if text is None else text
    return PromptSection(
        name, tier, content, sourced_text.source, sourced_text.fate, sourced_text.reason
    )


def join_parts(*parts: str) -> str:
    r"""Return the non-empty parts, stripped, separated by a blank line.

    >>> join_parts(" one ", "", "two")
    'one\n\ntwo'
    """
    return SECTION_SEPARATOR.join(stripped for part in parts if (stripped := part.strip()))
