"""Skill settings. Values only: cheap to import."""

from collections.abc import Mapping

from pydantic import JsonValue, NonNegativeFloat, NonNegativeInt, PositiveInt

from acp_server.config.setting import setting
from acp_server.config.values import CuratorMode, Names, Paths, ReviewWrites
from acp_server.startup.fast_dataclass import frozen_dataclass

PLATFORM = "acp"
"""The name of this server's surface in `platform_disabled`."""
NON_CODING_CATEGORIES = (
    *("apple", "communication", "cooking", "creative", "email", "finance", "gaming", "gifs"),
    *("health", "media", "music", "note-taking", "productivity", "shopping", "smart-home"),
    *("social-media", "travel"),
)
"""Skill categories that are rarely relevant to code."""


@frozen_dataclass
class SkillConfig:
    """Settings of the skills and of their reviews, for all sessions of a server."""

    external: Paths = setting((), "More skill directories, read only", "skills.external_dirs")
    disabled: Names = setting((), "Skills to disable", "skills.disabled")
    platform_disabled: Mapping[str, Names] = setting(
        {}, "Skills to disable per surface, such as `acp`", "skills.platform_disabled"
    )
    creation_nudge_interval: NonNegativeInt = setting(
        10,
        "After how many tool rounds a review looks for skills to save; 0: never",
        "skills.creation_nudge_interval",
    )
    max_characters: PositiveInt = setting(
        12_000, "The maximum characters of the prompt's skill list", "skills.index_char_limit"
    )
    review_writes: ReviewWrites = setting(
        "apply",
        "Whether skill reviews apply their changes, only propose them, or do not run",
        "skills.review_writes",
    )
    review_wait_seconds: NonNegativeFloat = setting(
        5.0, "How many idle seconds before a review starts", "skills.review_wait_seconds"
    )
    curator: CuratorMode = setting(
        "off", "Whether skills are tidied up while you are away", "skills.curator"
    )
    config: Mapping[str, JsonValue] = setting(
        {}, "Values of the settings that skills declare", "skills.config", name="skill_settings"
    )
    indexes: Names = setting(
        (),
        "Indexes that `skills search` looks in: repositories, or URLs of index files",
        "skills.indexes",
    )
    trusted_sources: Names = setting(
        (),
        "Trusted sources of skills, checked less strictly: URLs or directories",
        "skills.trusted_sources",
    )
    name_only_categories: Names = setting(
        NON_CODING_CATEGORIES,
        "Skill categories that are listed by name only in code workspaces",
        "skills.name_only_categories",
        old_keys=("skills.unrelated_categories",),
    )

    @property
    def disabled_names(self) -> frozenset[str]:
        """Names of the skills that are not offered on this server's surface."""
        return frozenset((*self.disabled, *self.platform_disabled.get(PLATFORM, ())))
