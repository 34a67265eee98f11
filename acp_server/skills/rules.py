"""What the configuration says about skills. Values only: cheap to import."""

from dataclasses import dataclass
from pathlib import Path

MOST_CHARACTERS = 12_000


@dataclass(frozen=True, slots=True)
class SkillRules:
    """The settings of all sessions of a server."""

    external: tuple[Path, ...] = ()
    """Folders of skills that the user named; they are only read."""
    disabled: frozenset[str] = frozenset()
    """Names of skills that are not offered here."""
    most_characters: int = MOST_CHARACTERS
    """Of the list in the system prompt."""
    unrelated: frozenset[str] = frozenset()
    """Categories that are listed by name only in a workspace of code."""
