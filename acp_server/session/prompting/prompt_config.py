"""Configuration of the system prompt, and the check for trusted instruction files."""

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from acp_server.startup.fast_dataclass import frozen_dataclass

MEMORY_LIMIT = 2_200
USER_LIMIT = 1_375


def _trust_nothing(path: Path, sha256: str) -> bool:
    del path, sha256
    return False


@frozen_dataclass
class PromptConfig:
    """Prompt settings shared by all sessions of a server."""

    home: Path
    """HERMES_HOME."""
    variables: Mapping[str, str]
    """The environment variables, without our secrets."""
    provider: str = ""
    platform: str = "acp"
    enforcement: bool | Literal["auto"] | tuple[str, ...] = "auto"
    """Whether to add tool-use enforcement: by model family, always, never, or for ids with these
    parts."""
    environment_hint: str = ""
    should_probe_python: bool = True
    max_characters: int | None = None
    """Explicit size limit for each instruction file."""
    agents_md_scope: Literal["chain", "cwd"] = "chain"
    hint_overrides: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )
    """By surface: a replacement for its hint, and text to add to it."""
    system_message: str = ""
    has_memory: bool = True
    has_user_profile: bool = True
    memory_limit: int = MEMORY_LIMIT
    user_limit: int = USER_LIMIT
    should_skip_context_files: bool = False
    """Whether to leave out SOUL.md and the project's instructions, as for sub-agents."""
    is_trusted: Callable[[Path, str], bool] = _trust_nothing
