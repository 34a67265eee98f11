"""What the configuration says of system prompts: those of sessions, and those of sub-agents."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from acp_server import settings
from acp_server.permissions.trust import ContentTrust
from acp_server.session.prompt_settings import PromptSettings
from acp_server.settings import Configuration

TASK_PLATFORM = "task"
"""What a sub-agent writes to: the agent that has handed it a task."""


def prompt_settings(configuration: Configuration) -> PromptSettings:
    """Return what the configuration says about system prompts."""
    current, home = configuration.settings, configuration.home
    hidden: Mapping[str, str | None] = dict.fromkeys(settings.secret_variables())
    return PromptSettings(
        home=home,
        variables=settings.child_environment(hidden),
        provider=current.provider,
        enforcement=current.tool_use_enforcement,
        environment_hint=current.environment_hint,
        probes_python=current.environment_probe,
        max_characters=current.context_file_max_chars,
        agents_md_scope=current.agents_md_scope,
        hint_overrides={
            name: (hint.replace, hint.append) for name, hint in current.platform_hints.items()
        },
        system_message=current.system_message,
        has_memory=current.memory_enabled,
        has_user_profile=current.user_profile_enabled,
        memory_limit=current.memory_char_limit,
        user_limit=current.user_char_limit,
        is_trusted=content_trust(home).is_given,
    )


def content_trust(home: Path) -> ContentTrust:
    """Return where it is kept which blocked files of instructions the user allows."""
    return ContentTrust(home / "acp" / "context_trust.json")


def task_settings(configuration: Configuration) -> PromptSettings:
    """Return the same for sub-agents: our identity, and nothing of what is remembered."""
    return replace(
        prompt_settings(configuration),
        platform=TASK_PLATFORM,
        skips_context_files=True,
        has_memory=False,
        has_user_profile=False,
    )
