"""Memory settings. Values only: cheap to import."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pydantic import JsonValue, NonNegativeFloat, NonNegativeInt, PositiveInt

from acp_server.config.setting import setting
from acp_server.config.values import Names
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
    provider: str = setting(
        "",
        "An additional memory: `local`, `honcho`, `mem0` or an installed provider",
        "memory.provider",
    )
    provider_wait: NonNegativeFloat = setting(
        3.0,
        "How many seconds the first prompt waits for the text of the provider",
        "memory.provider_wait",
    )
    provider_settings: Mapping[str, JsonValue] = setting(
        {}, "Settings for the provider; see docs/memory.md", "memory.provider_settings"
    )
    provider_keys: Names = setting(
        (),
        "Variables that the provider gets besides those that begin with its name",
        "memory.provider_keys",
    )
    nudge_interval: NonNegativeInt = setting(
        10,
        "After how many prompts a review looks for facts to remember; 0: never",
        "memory.nudge_interval",
    )

    def is_provider_variable(self, name: str) -> bool:
        """Return whether the provider gets an environment variable: `HONCHO_...` for `honcho`."""
        prefix = self.provider.upper().replace("-", "_")
        return bool(prefix) and (name.startswith(f"{prefix}_") or name in self.provider_keys)

    @property
    def limits(self) -> "Mapping[StoreName, int]":
        """Size limits in characters of the enabled stores; if there are none, there is no tool."""
        limits: dict[StoreName, int] = {}
        if self.is_enabled:
            limits["memory"] = self.char_limit
        if self.has_user_profile:
            limits["user"] = self.user_char_limit
        return limits
