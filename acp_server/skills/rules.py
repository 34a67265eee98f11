"""What the configuration says about skills. Values only: cheap to import."""

from pathlib import Path

from acp_server.frozen import frozen

MOST_CHARACTERS = 12_000


@frozen
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
