"""Skill settings. Values only: cheap to import."""

from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_CHARACTERS = 12_000


@frozen_dataclass
class SkillConfig:
    """Settings for all sessions of a server."""

    external: tuple[Path, ...] = ()
    """Skill directories that the user configured; read-only."""
    disabled: frozenset[str] = frozenset()
    """Names of skills that are not offered."""
    max_characters: int = MAX_CHARACTERS
    """Limit of the skill list in the system prompt."""
    name_only_categories: frozenset[str] = frozenset()
    """Categories of which a code workspace lists only the names."""
