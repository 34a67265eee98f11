"""Configuration of the system prompt, and the check for trusted instruction files."""

from collections.abc import Callable, Mapping
from dataclasses import field
from datetime import date, datetime
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import PositiveInt

from acp_server.config.setting import setting
from acp_server.config.values import Paragraphs, PlatformHint, TimeZone
from acp_server.memory.config import MemoryConfig
from acp_server.startup.fast_dataclass import frozen_dataclass


def _trust_nothing(path: Path, sha256: str) -> bool:
    del path, sha256
    return False


@frozen_dataclass
class PromptSettings:
    """The user's settings of the system prompt."""

    enforcement: bool | Literal["auto"] | tuple[str, ...] = setting(
        "auto",
        "Whether to urge the model to use tools: by family, always, never, or these ids",
        "agent.tool_use_enforcement",
        name="tool_use_enforcement",
    )
    should_probe_python: bool = setting(
        True,
        "Whether to detect an unusual Python setup",
        "agent.environment_probe",
        name="environment_probe",
    )
    environment_hint: str = setting(
        "",
        "A note for the model about this machine",
        "agent.environment_hint",
        name="environment_hint",
    )
    system_message: str = setting(
        "", "Additional text for the system prompt", "agent.system_prompt", name="system_message"
    )
    coding_instructions: Paragraphs = setting(
        "",
        "Additional text for the system prompt, as Hermes writes it: a text or a list",
        "agent.coding_instructions",
    )
    timezone: TimeZone = setting(
        "", "The time zone of the date in the prompt, such as `Asia/Tokyo`", "timezone"
    )
    max_characters: PositiveInt | None = setting(
        None,
        "The maximum characters per instruction file",
        "context_file_max_chars",
    )
    agents_md_scope: Literal["chain", "cwd"] = setting(
        "chain",
        "Whether AGENTS.md files in parent directories count",
        "agents_md_scope",
    )
    platform_hints: Mapping[str, PlatformHint] = setting(
        {},
        "Changes to the prompt's hint for a surface, such as `acp`",
        "platform_hints",
    )

    def today(self) -> date:
        """Return the date in the user's time zone: the configured one, else this machine's."""
        return datetime.now(ZoneInfo(self.timezone) if self.timezone else None).date()

    @property
    def additional_text(self) -> str:
        """All text that the settings add to the prompt."""
        return "\n\n".join(filter(None, (self.system_message, self.coding_instructions)))


@frozen_dataclass
class PromptConfig:
    """Configuration of the system prompt, shared by all sessions of a server."""

    home: Path
    """HERMES_HOME."""
    variables: Mapping[str, str]
    """The environment variables, without our secrets."""
    settings: PromptSettings = field(default_factory=PromptSettings)
    memory: MemoryConfig = field(default_factory=MemoryConfig)
    provider: str = ""
    platform: str = "acp"
    should_skip_context_files: bool = False
    """Whether to leave out SOUL.md and the project's instructions, as for sub-agents."""
    is_trusted: Callable[[Path, str], bool] = _trust_nothing
