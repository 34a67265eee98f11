"""Memory settings. Values only: cheap to import."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import NonNegativeInt, PositiveInt

from acp_server.config.setting import setting
from acp_server.startup.fast_dataclass import frozen_dataclass

if TYPE_CHECKING:
    from prompt_engine.memory_entries import StoreName


@frozen_dataclass
class MemoryConfig:
    """Settings of the memory that outlasts a session."""

    is_enabled: bool = setting(
        True, "Whether the model sees MEMORY.md", "memory.memory_enabled", name="memory_enabled"
    )
    has_user_profile: bool = setting(
        True,
        "Whether the model sees USER.md",
        "memory.user_profile_enabled",
        name="user_profile_enabled",
    )
    char_limit: PositiveInt = setting(
        2_200,
        "The maximum characters of MEMORY.md",
        "memory.memory_char_limit",
        name="memory_char_limit",
    )
    user_char_limit: PositiveInt = setting(
        1_375, "The maximum characters of USER.md", "memory.user_char_limit", name="user_char_limit"
    )
    needs_permission: bool = setting(
        False,
        "Whether each change to the memory needs your permission",
        "memory.write_approval",
        old_keys=("memory.ask",),
    )
    provider: str = setting("", "An additional, external memory provider", "memory.provider")
    nudge_interval: NonNegativeInt = setting(
        10,
        "After how many prompts a review looks for facts to remember; 0: never",
        "memory.nudge_interval",
    )

    @property
    def limits(self) -> "Mapping[StoreName, int]":
        """Size limits in characters of the enabled stores; if there are none, there is no tool."""
        limits: dict[StoreName, int] = {}
        if self.is_enabled:
            limits["memory"] = self.char_limit
        if self.has_user_profile:
            limits["user"] = self.user_char_limit
        return limits
