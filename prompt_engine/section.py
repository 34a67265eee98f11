"""A part of the prompt, ready to be joined: its text, its place, and what became of its source."""

from dataclasses import dataclass
from typing import Literal

from prompt_engine.facts import Fate, Passage

Tier = Literal["stable", "context", "volatile"]
"""What changes never, with the workspace, or with the day."""

JOINT = "\n\n"
"""What stands between two parts: one blank line."""


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the prompt. Without text it is only reported."""

    name: str
    tier: Tier
    text: str
    source: str = ""
    """The path or setting of its text; empty for our own words."""
    fate: Fate = "kept"
    reason: str = ""


def section_of(name: str, tier: Tier, passage: Passage, text: str | None = None) -> Section:
    """Return the section that shows a passage, in other words if `text` is given."""
    shown = passage.text if text is None else text
    return Section(name, tier, shown, passage.source, passage.fate, passage.reason)


def joined(*parts: str) -> str:
    r"""Return the parts that say anything, stripped, a blank line between them.

    >>> joined(" one ", "", "two")
    'one\n\ntwo'
    """
    return JOINT.join(stripped for part in parts if (stripped := part.strip()))
