"""What the configuration says about the system prompt, and which blocked files are trusted."""

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from acp_server.frozen import frozen

MEMORY_LIMIT = 2_200
USER_LIMIT = 1_375


def _nothing(path: Path, sha256: str) -> bool:
    del path, sha256
    return False


@frozen
class PromptSettings:
    """The settings of all sessions of a server."""

    home: Path
    """HERMES_HOME."""
    variables: Mapping[str, str]
    """The environment, without secrets of ours."""
    provider: str = ""
    platform: str = "acp"
    enforcement: bool | Literal["auto"] | tuple[str, ...] = "auto"
    """Whether the model is told to act: by its family, always, never, or by parts of its id."""
    environment_hint: str = ""
    probes_python: bool = True
    max_characters: int | None = None
    """An explicit cap for each file of instructions."""
    agents_md_scope: Literal["chain", "cwd"] = "chain"
    hint_overrides: Mapping[str, tuple[str, str]] = field(
        default_factory=dict[str, tuple[str, str]]
    )
    """By surface: what replaces its hint, and what is added to it."""
    system_message: str = ""
    has_memory: bool = True
    has_user_profile: bool = True
    memory_limit: int = MEMORY_LIMIT
    user_limit: int = USER_LIMIT
    skips_context_files: bool = False
    """Whether SOUL.md and the project's instructions are left out, as for sub-agents."""
    is_trusted: Callable[[Path, str], bool] = _nothing
